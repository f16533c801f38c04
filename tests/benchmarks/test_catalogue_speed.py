"""The interval of ours / theirs, and that a pair is the same function."""

from __future__ import annotations

import math

import pytest

from benchmarks.catalogue_speed import PAIRS, interval, run


def test_interval_of_few_ratios_is_unknown_and_of_seven_is_their_range() -> None:
    assert interval([1.0, 2.0, 3.0]) == (2.0, -math.inf, math.inf)
    assert interval([7.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (4.0, 1.0, 7.0)


def test_interval_of_twenty_leaves_out_five_on_each_side() -> None:
    """P(at most 5 of 20 below the median) is 2.07 %, at most 6 of them 5.77 %."""
    assert interval([float(i) for i in range(1, 21)]) == (10.5, 6.0, 15.0)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.name.startswith("cross")])
def test_a_pair_computes_the_same(pair: object) -> None:
    difference, forward, training = run(pair, 0.0)  # type: ignore[arg-type]
    assert difference < 1e-6
    assert forward.low <= forward.ratio <= forward.high
    assert training.ours_s > forward.ours_s
