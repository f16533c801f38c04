"""Factors by width against a kernel whose time is known."""

from __future__ import annotations

import numpy as np
import pytest

from costlab.calibration.widths import SWEEPS, WidthSweep, ragged_tables
from costlab.hardware.calibration_record import PERIOD, Ragged
from costlab.hardware.ragged import RaggedTable

_BARE_S = 1e-6


def _time_s(sweep: WidthSweep, width: int) -> float:
    """Whole vectors of eight, and a tail that takes as long as twelve columns; none at two rows."""
    tail = 12 if width % 8 and sweep.rows > 2 else 0
    columns = width if sweep.rows <= 2 else width // 8 * 8 + tail
    return _BARE_S + 1e-7 * columns


def _rounds() -> list[list[list[float]]]:
    quiet = [[_time_s(sweep, width) for width in sweep.widths()] for sweep in SWEEPS]
    disturbed = [[2 * time_s for time_s in times] for times in quiet]
    return [disturbed, quiet, disturbed]


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
