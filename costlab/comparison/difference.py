"""Whether one program got faster or slower between two sets of process medians. Pure functions.

Ranks carry the test and the interval (Mann and Whitney 1947, Hodges and Lehmann 1963), so neither
a heavy tail nor a single disturbed process decides. The unit is the process: medians of fresh
processes, in the order in which they were measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

FASTER, SLOWER, SAME, CANNOT_TELL = "faster", "slower", "same", "cannot tell"
# At 2 % a study of 40 equal pairs calls more than two of them different once in twenty studies.
FALSE_ALARMS = 0.02
SMALLEST = 0.01  # a smaller change is never called faster or slower
TOLERANCE = 0.05  # "same": the whole interval of the ratio is closer to 1 than this
_TREND_ALARMS = 0.20


@dataclass(frozen=True, slots=True)
class Difference:
    """How the times ``b`` compare with the times ``a``.

    Attributes:
        verdict: "faster", "slower", "same" or "cannot tell", said of b.
        ratio: Hodges-Lehmann estimate of b over a; above 1 b is slower.
        interval: of the ratio, at one minus the rate of false alarms, the allowance included.
        p_value: two-sided; chance of ranks this uneven if both had one distribution.
        allowance: shift of the logarithm that is put down to the machine and not to the program:
            a trend within either set, or what was passed in.
        reason: why "cannot tell"; "" otherwise.
    """

    verdict: str
    ratio: float
    interval: tuple[float, float]
    p_value: float
    allowance: float
    reason: str = ""


def verdict(
    samples_a: Sequence[float],
    samples_b: Sequence[float],
    *,
    false_alarms: float = FALSE_ALARMS,
    allowance: float = 0.0,
) -> Difference:
    """Compare the process medians ``samples_b`` with ``samples_a``.

    Different needs both: ranks that equal programs give in at most ``false_alarms`` of all
    comparisons, beyond the allowance, and a change of 1 % or more. Same needs an interval within
    5 % of no change. Everything else is "cannot tell".

    Args:
        samples_a: times of one side, in the order measured, all positive.
        samples_b: times of the other side.
        false_alarms: share of equal pairs that may be called different.
        allowance: shift of the logarithm that the machine may have caused.

    Raises:
        ValueError: if a side is empty.
    """
    if not samples_a or not samples_b:
        raise ValueError("no samples")
    a, b = ([math.log(value) for value in side] for side in (samples_a, samples_b))
    allowance = max(allowance, _trend(a, b))
    gaps = sorted(late - early for late in b for early in a)
    count = len(gaps)
    middle = (gaps[(count - 1) // 2] + gaps[count // 2]) / 2
    p_value = _p_value(a, b, allowance)
    rank = _critical_rank(len(a), len(b), false_alarms)
    outer = max(rank, 0)
    interval = (
        math.exp(gaps[outer] - allowance),
        math.exp(gaps[count - 1 - outer] + allowance),
    )
    found, reason = _judge(middle, interval, p_value, false_alarms, rank, allowance)
    return Difference(found, math.exp(middle), interval, p_value, allowance, reason)


def _judge(
    middle: float,
    interval: tuple[float, float],
    p_value: float,
    false_alarms: float,
    rank: int,
    allowance: float,
) -> tuple[str, str]:
    if rank < 0:
        return CANNOT_TELL, "too few processes"
    if p_value <= false_alarms and abs(middle) >= math.log1p(SMALLEST):
        return (SLOWER if middle > 0 else FASTER), ""
    if interval[0] >= 1 / (1 + TOLERANCE) and interval[1] <= 1 + TOLERANCE:
        return SAME, ""
    # Without the allowance the interval would be narrower by its square on the whole.
    narrow = interval[1] / interval[0] * math.exp(-2 * allowance)
    if allowance and narrow <= (1 + TOLERANCE) ** 2:
        return CANNOT_TELL, "drift"
    return CANNOT_TELL, "noise"


def _p_value(a: Sequence[float], b: Sequence[float], allowance: float) -> float:
    """Two-sided, of the side that speaks more; ties and the allowance speak for no change."""
    slower = sum(late - allowance <= early for late in b for early in a)
    faster = sum(late + allowance >= early for late in b for early in a)
    return min(1.0, 2 * _tail(len(a), len(b), min(slower, faster)))


def _tail(size_a: int, size_b: int, against: int) -> float:
    """P(U <= against) of the Mann-Whitney statistic of two samples of one distribution."""
    counts = _rank_counts(size_a, size_b)
    return sum(counts[: against + 1]) / sum(counts)


@lru_cache(maxsize=64)
def _rank_counts(size_a: int, size_b: int) -> tuple[int, ...]:
    """In how many orders of both samples U is 0, 1, 2, ...: a Gaussian binomial coefficient."""
    counts = [1] + [0] * (size_a * size_b)
    for factor in range(size_b + 1, size_b + size_a + 1):
        for place in range(len(counts) - 1, factor - 1, -1):
            counts[place] -= counts[place - factor]
    for factor in range(1, size_a + 1):
        for place in range(factor, len(counts)):
            counts[place] += counts[place - factor]
    return tuple(counts)


def _critical_rank(size_a: int, size_b: int, false_alarms: float) -> int:
    """Largest U that is called different, -1 where even 0 happens too often by chance."""
    counts = _rank_counts(size_a, size_b)
    limit = false_alarms / 2 * sum(counts)
    sums = itertools.accumulate(counts)
    return sum(1 for total in itertools.takewhile(lambda total: total <= limit, sums)) - 1


def _trend(a: Sequence[float], b: Sequence[float]) -> float:
    """How far apart a trend over the order of measurement sets two sides measured in a row.

    A machine that grows slower shows it within a side too. Kendall's statistic of both sides
    together decides whether there is a trend; Theil and Sen's slope says how large it is.
    """
    score = variance = 0.0
    slopes: list[float] = []
    for side in (a, b):
        pairs = list(itertools.combinations(range(len(side)), 2))
        score += sum((side[j] > side[i]) - (side[j] < side[i]) for i, j in pairs)
        size = len(side)
        variance += size * (size - 1) * (2 * size + 5) / 18
        slopes += [(side[j] - side[i]) / (j - i) for i, j in pairs]
    if variance == 0:
        return 0.0
    chance = math.erfc(max(abs(score) - 1, 0.0) / math.sqrt(2 * variance))
    if chance > _TREND_ALARMS:
        return 0.0
    slopes.sort()
    return abs(slopes[len(slopes) // 2]) * (len(a) + len(b)) / 2
