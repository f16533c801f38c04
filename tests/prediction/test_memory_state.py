"""Which passes get fresh memory, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from costlab.algebra import as_expr, symbol
from costlab.formulas.record import CostClass, Group, Quantity
from costlab.prediction.memory_state import footprint_bytes, fresh_bytes

_N = symbol("n")
_MIB = 2**20


def _program(blocks: float) -> CostClass:
    """One operator over n elements; the step's peak is ``blocks`` times its bytes."""
    group = Group("aten.cat.default", "copy", "forward", False, as_expr(0), 8 * _N, as_expr(1),
                  as_expr(1), ((_N,), (7,)))  # fmt: skip
    peak = as_expr(round(40 * blocks)) * _N / 10
    cost = {"peak_bytes": Quantity(peak + 100), "peak_bytes_step": Quantity(peak)}
    return CostClass((), cost, (group,), ())


@pytest.mark.parametrize(
    ("blocks", "mib", "fresh"),
    [(1.5, 8, False), (2.1, 8, True), (2.1, 0.25, False), (5.0, 8, False), (1.5, 33, True)],
)
def test_two_blocks_or_very_large_ones_are_fresh_each_time(
    blocks: float, mib: float, fresh: bool
) -> None:
    n = int(mib * _MIB) // 4
    peak = 4 * blocks * n if fresh else 0.0

    assert float(fresh_bytes(_program(blocks), {"n": n}, "forward")) == pytest.approx(peak)


def test_a_training_pass_keeps_its_heap() -> None:
    values = {"n": 2 * _MIB}

    assert float(fresh_bytes(_program(2.1), values, "forward")) > 0
    assert float(fresh_bytes(_program(2.1), values, "train")) == 0


def test_arrays_of_sizes_and_programs_without_formulas() -> None:
    sizes = np.array([1e3, 2e6, 1e7])

    found = fresh_bytes(_program(2.1), {"n": sizes}, "forward")

    assert found == pytest.approx([0.0, 4 * 2.1 * 2e6, 4 * 2.1 * 1e7])
    assert footprint_bytes(_program(2.1), {"n": 1000}) == 8500
    assert footprint_bytes(CostClass((), {}, (), ()), {}) == 0
