"""Which passes get fresh memory, by hand."""

from __future__ import annotations

import resource
from collections.abc import Callable

import numpy as np
import pytest
import torch

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
    [
        (1.5, 8, (0, 0, 0)),
        (2.1, 8, (0, 1, 1)),
        (2.1, 0.25, (0, 0, 0)),
        (5.0, 8, (0, 0, 1)),
        (1.5, 33, (1, 1, 1)),
    ],
)
def test_two_blocks_or_very_large_ones_are_fresh_each_time(
    blocks: float, mib: float, fresh: tuple[int, int, int]
) -> None:
    n = int(mib * _MIB) // 4

    found = fresh_bytes(_program(blocks), {"n": n}, "forward")

    peak = 4 * blocks * n
    bounds = [float(found.least), float(found.expected), float(found.most)]
    assert bounds == pytest.approx([peak * share for share in fresh])


def test_a_training_pass_keeps_its_heap() -> None:
    values = {"n": 2 * _MIB}

    assert float(fresh_bytes(_program(2.1), values, "forward").expected) > 0
    assert float(fresh_bytes(_program(2.1), values, "train").expected) == 0
    assert float(fresh_bytes(_program(2.1), values, "train").most) > 0


def test_arrays_of_sizes_and_programs_without_formulas() -> None:
    sizes = np.array([1e3, 2e6, 1e7])

    found = fresh_bytes(_program(2.1), {"n": sizes}, "forward")

    assert found.expected == pytest.approx([0.0, 4 * 2.1 * 2e6, 4 * 2.1 * 1e7])
    assert footprint_bytes(_program(2.1), {"n": 1000}) == 8500
    assert footprint_bytes(CostClass((), {}, (), ()), {}) == 0


def _faults(action: Callable[[], object]) -> int:
    """The fewest page faults of one call, of several after two that warm up."""
    counts = []
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        action()
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(counts[2:])


def test_a_block_beyond_the_limit_is_fresh_in_every_pass() -> None:
    """Page faults of real allocations; 2 MiB is the largest page that the system might give."""
    elements = 34 * _MIB // 4
    kept = torch.empty(elements)

    fresh = _faults(lambda: torch.empty(elements).fill_(1.0))

    assert fresh >= 34 / 2
    assert _faults(lambda: kept.fill_(1.0)) < fresh / 10
    assert float(fresh_bytes(_program(1.5), {"n": elements}, "forward").least) > 0
