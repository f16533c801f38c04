"""The interval of ours / theirs, and that a pair is the same function."""

from __future__ import annotations

import math

import pytest
import torch

from benchmarks.catalogue_speed import PAIRS, Pair, compare, interval


def test_interval_of_few_ratios_is_unknown_and_of_seven_is_their_range() -> None:
    assert interval([1.0, 2.0, 3.0]) == (2.0, -math.inf, math.inf)
    assert interval([7.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (4.0, 1.0, 7.0)


def test_interval_of_twenty_leaves_out_five_on_each_side() -> None:
    """P(at most 5 of 20 below the median) is 2.07 %, at most 6 of them 5.77 %."""
    assert interval([float(i) for i in range(1, 21)]) == (10.5, 6.0, 15.0)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.name.startswith("cross")])
def test_a_pair_computes_the_same(pair: Pair) -> None:
    ours, theirs, inputs = pair.make()
    with torch.no_grad():
        assert float((ours(*inputs) - theirs(*inputs)).abs().max()) < 1e-6


def test_twenty_times_the_work_takes_longer_whichever_runs_first() -> None:
    def once(x: torch.Tensor) -> torch.Tensor:
        return x @ x

    def often(x: torch.Tensor) -> torch.Tensor:
        for _ in range(19):
            once(x)
        return once(x)

    timed = compare(once, often, (torch.ones(64, 64),), 0.0)
    assert 0 < timed.low <= timed.ratio <= timed.high
    assert timed.ratio < 1
