"""Statistics of timings: the process is the unit of replication. Pure functions on sequences.

A spread within one process says little about the next one, so intervals come from the medians of
several fresh processes.

A point's interval answers what a reader does with it: measure again and compare. So it is made
to hold the median of *another study of the same size*, which is wider than an interval for the
true median: a 95 % interval of that kind holds a second study's median only 83 % of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval, and the probability (before measuring) that it holds what it is for."""

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


def repeat_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The interval in which the median of as many values of a second study lies.

    From nine values on it is made of order statistics and holds for any distribution. Fewer do
    not reach 95 % that way; then it is the median times or over ``exp(c s)``, with s the standard
    deviation of the logarithms and c such that it holds for a log-normal distribution, and no
    narrower than the values themselves.

    Args:
        values: positive, one for each process.
        level: probability, at most 95 % with fewer than nine values.

    Raises:
        ValueError: if ``values`` is empty.
    """
    ordered = sorted(values)
    count = len(ordered)
    centre = median(ordered)
    if count == 1:
        return Interval(centre, centre, 0.0)
    if count in _REPEAT_FACTORS:
        reach = math.exp(_REPEAT_FACTORS[count] * log_deviation(ordered))
        return Interval(
            min(centre / reach, ordered[0]), max(centre * reach, ordered[-1]), 0.95
        )  # fmt: skip
    best = Interval(ordered[0], ordered[-1], repeat_coverage(count, 1))
    for rank in range(2, count // 2 + 1):
        coverage = repeat_coverage(count, rank)
        if coverage < level:
            break
        best = Interval(ordered[rank - 1], ordered[-rank], coverage)
    return best


# Monte Carlo, 95 % quantile of |median of a second sample - median| / standard deviation over
# 4 million normal samples; tests/measurement/test_statistics.py repeats it with fewer.
_REPEAT_FACTORS = {2: 12.69, 3: 3.844, 4: 2.387, 5: 2.009, 6: 1.639, 7: 1.532, 8: 1.341}


def repeat_coverage(count: int, rank: int) -> float:
    """Probability that a second sample's median lies between the ``rank``-th least and largest.

    Of two merged samples of ``count`` values all orders are equally likely, so the number of the
    first sample's values below the k-th of the second is negative hypergeometric. For an even
    count the lower of the two middle values stands for the median, which errs to the safe side.
    """
    middle = (count + 1) // 2
    below = sum(
        math.comb(middle - 1 + index, index) * math.comb(2 * count - middle - index, count - index)
        for index in range(rank)
    )
    return 1 - 2 * below / math.comb(2 * count, count)


def log_deviation(values: Sequence[float]) -> float:
    """Standard deviation of the logarithms of positive ``values``: a relative spread."""
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    return math.sqrt(math.fsum((one - mean) ** 2 for one in logs) / (len(logs) - 1))


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
