"""Statistics of timings: the process is the unit of replication. Pure functions on sequences.

A spread within one process says little about the next one, so intervals come from the medians of
several fresh processes and make no assumption about their distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval for a median, and the probability (before measuring) that it covers it."""

    low: float
    high: float
    coverage: float


def quantile(values: Sequence[float], share: float) -> float:
    """The ``share`` quantile with linear interpolation between order statistics.

    Raises:
        ValueError: if ``values`` is empty.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def median(values: Sequence[float]) -> float:
    """Middle value, the mean of the two middle ones for an even count."""
    return quantile(values, 0.5)


def relative_iqr(values: Sequence[float]) -> float:
    """Interquartile range over the median: the spread of the middle half."""
    return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)


def median_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The narrowest symmetric order-statistic interval that covers the median with ``level``.

    The k-th smallest and k-th largest of N independent values enclose the median with probability
    ``1 - 2 P(Binomial(N, 1/2) < k)``. Five values or fewer cannot reach 95 %: then it is the
    smallest to the largest value, and ``coverage`` says how much that is worth (75 % for three).
    """
    ordered = sorted(values)
    count = len(ordered)
    if not count:
        raise ValueError("no values")
    best = Interval(ordered[0], ordered[-1], max(_coverage(count, 1), 0.0))
    for rank in range(2, count // 2 + 1):
        coverage = _coverage(count, rank)
        if coverage < level:
            break
        best = Interval(ordered[rank - 1], ordered[-rank], coverage)
    return best


def _coverage(count: int, rank: int) -> float:
    outside = sum(math.comb(count, index) for index in range(rank))
    return 1 - 2 * outside / float(2**count)


def relative_width(interval: Interval, centre: float) -> float:
    """Half the interval's width over ``centre``: "plus or minus this share"."""
    return (interval.high - interval.low) / 2 / centre


def drift(values: Sequence[float]) -> float:
    """Median of the later half over that of the earlier half, minus 1; 0 below four values."""
    if len(values) < 4:
        return 0.0
    half = len(values) // 2
    return median(values[-half:]) / median(values[:half]) - 1


def halves_agree(values: Sequence[float], tolerance: float) -> bool:
    """Whether a warm-up has settled: at least six values, halves within ``tolerance``."""
    return len(values) >= 6 and abs(drift(values)) <= tolerance
