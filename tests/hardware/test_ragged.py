"""Factors by width against a kernel whose time is known."""

from __future__ import annotations

import numpy as np
import pytest

from costlab.calibration.visits import Visit
from costlab.calibration.widths import (
    RESULT_SWEEPS,
    SWEEPS,
    ResultSweep,
    SweepVisits,
    WidthSweep,
    ragged_tables,
    unaligned_costs,
)
from costlab.hardware.calibration_record import PERIOD, Ragged, Unaligned
from costlab.hardware.ragged import RaggedTable, unaligned_elements, unaligned_s

_BARE_S = 1e-6


def _time_s(sweep: WidthSweep, width: int) -> float:
    """Whole vectors of eight, and a tail that takes as long as twelve columns; none at two rows."""
    tail = 12 if width % 8 and sweep.rows > 2 else 0
    columns = width if sweep.rows <= 2 else width // 8 * 8 + tail
    return _BARE_S + 1e-7 * columns


def _rounds() -> list[SweepVisits]:
    """Every third width never has a core to itself, and takes 1.4 times as long then."""

    def seen(time_s: float, width: int, disturbed: bool) -> list[Visit]:
        shared = Visit(1.4 * time_s, False)
        return [shared] if disturbed or width % 3 == 0 else [shared, Visit(time_s, True)]

    return [
        [
            [seen(_time_s(sweep, width), width, disturbed) for width in sweep.widths()]
            for sweep in SWEEPS
        ]
        for disturbed in (True, False, True)
    ]


@pytest.mark.parametrize("width", [3, 8, 9, 17, 31, 32, 33, 47, 100, 250, 1001])
def test_a_tail_costs_what_it_was_measured_to_cost(width: int) -> None:
    table = RaggedTable.of("matmul", ragged_tables(_rounds(), _BARE_S)["matmul"])

    assert table is not None
    expected = (width // 8 * 8 + (12 if width % 8 else 0)) / width
    assert float(table.factor((1, 512, 64, width))) == pytest.approx(max(expected, 0.8), rel=0.03)
    assert float(table.factor((1, 1, 64, width))) == pytest.approx(1.0, rel=1e-6)


def test_between_measured_rows_lies_a_factor_between_theirs() -> None:
    near, far = (1.0,) * 2 * PERIOD, (1.0,) * PERIOD
    slow = Ragged(64, (4.0,) * 2 * PERIOD, (4.0,) * PERIOD, 240)
    table = RaggedTable.of("matmul", [slow, Ragged(4, near, far, 240)])

    assert table is not None
    found = table.factor((1, np.array([1, 4, 16, 64, 900]), 8, 7))
    assert found == pytest.approx([1.0, 1.0, 2.0, 4.0, 4.0])


def test_kinds_without_a_measurement_have_no_table() -> None:
    assert RaggedTable.of("matmul", ()) is None
    assert RaggedTable.of("convolution", ragged_tables(_rounds(), _BARE_S)["matmul"]) is None


def test_a_table_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="every width"):
        Ragged(1, (1.0,), (1.0,) * PERIOD, 240)


def _product_s(sweep: ResultSweep, width: int) -> float:
    """Columns alike; from 4 MB of result on 2 ns more per element of rows that begin anywhere."""
    large = 4 * sweep.rows * width > 4_000_000
    return _BARE_S + width * sweep.rows * (1e-9 + 2e-9 * (width % 8 != 0 and large))


def _result_rounds() -> list[SweepVisits]:
    """One visit alone, one that a neighbour made half as long again, and one round of these."""
    rounds: list[SweepVisits] = []
    for alone in (True, False):
        rounds.append([
            [
                [Visit(1.5 * _product_s(sweep, width), False)]
                + [Visit(_product_s(sweep, width), True)] * alone
                for width in sweep.widths()
            ]
            for sweep in RESULT_SWEEPS
        ])  # fmt: skip
    return rounds


def test_what_large_results_cost_is_found_under_disturbance() -> None:
    found = unaligned_costs(_result_rounds(), _BARE_S, (), element_bytes=4)

    assert [one.seconds for one in found] == pytest.approx([0, 0, 0, 2e-9, 2e-9], abs=1e-15)
    assert found[0].bytes == 4 * (512 * 80 + 80 * 504 + 512 * 504)


def test_what_the_width_alone_costs_is_not_counted_twice() -> None:
    tail = tuple(1.0 if width % 8 == 0 else 3.0 for width in range(PERIOD))
    near = tuple(1.0 if width % 8 == 0 else 3.0 for width in range(1, 2 * PERIOD + 1))

    found = unaligned_costs(_result_rounds(), _BARE_S, [Ragged(512, near, tail, 240)], 4)

    assert all(one.seconds == pytest.approx(0, abs=1e-15) for one in found)


def test_rows_that_begin_at_whole_vectors_cost_nothing() -> None:
    widths = np.array([8, 9, 64, 500, 504, 1001])

    found = unaligned_elements((2, 100, 300, widths))

    # Two passes over the inner dimension of 300.
    assert found.tolist() == [0, 2 * 100 * 9 * 2, 0, 2 * 100 * 500 * 2, 0, 2 * 100 * 1001 * 2]


def test_what_an_element_costs_is_interpolated_and_ends() -> None:
    measured = (Unaligned(2**20, 1e-9), Unaligned(2**22, 3e-9))

    found = unaligned_s(np.array([1, 2**19, 2**20, 2**21, 2**22, 2**30]), measured)

    assert found == pytest.approx([0, 0, 1e-9, 2e-9, 3e-9, 3e-9])
