"""Did the machine change while a sweep ran? Found from the order of the timed processes.

Only times of one point are set against each other, early against late, so what differs between
points does not matter, and ranks and medians are used, so that a few disturbed processes do not
either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from costlab.measurement.statistics import median

MIN_POINTS = 3
MIN_CHANGE = 0.02
MAX_P_VALUE = 0.01


@dataclass(frozen=True, slots=True)
class OrderDrift:
    """``change`` of the times from the first to the last process of a run, as a share.

    ``p_value`` is the probability of a trend at least as clear where none is; ``pairs`` counts
    what it rests on.
    """

    change: float
    p_value: float
    pairs: int

    @property
    def found(self) -> bool:
        """Whether the times drifted: clearly, and by more than 2 %."""
        return self.p_value < MAX_P_VALUE and abs(self.change) > MIN_CHANGE


def order_drift(points: Sequence[Mapping[str, Any]]) -> OrderDrift | None:
    """The trend of a run's times over the order in which they were taken.

    Within each point, Kendall's S of time against order; S is summed over the points and set
    against its standard deviation without a trend (Kendall, Rank Correlation Methods, 1948:
    variance n(n-1)(2n+5)/18 for n values). The change is the median slope of the logarithms
    (Theil 1950, Sen 1968), times the length of the run.

    Args:
        points: results with ``samples`` (one time in s per process) and ``timed_at`` (epoch s).

    Returns:
        None if there are fewer than three points with two times, which says nothing.
    """
    moments = sorted({moment for point in points for moment in point.get("timed_at", ())})
    place = {moment: rank / max(len(moments) - 1, 1) for rank, moment in enumerate(moments)}
    score, variance, slopes, used = 0, 0.0, [], 0
    for point in points:
        times = list(zip(point.get("timed_at", ()), point.get("samples", ()), strict=False))
        if len(times) < 2:
            continue
        used += 1
        count = len(times)
        variance += count * (count - 1) * (2 * count + 5) / 18
        for (early, before), (late, after) in combinations(sorted(times), 2):
            if late == early or min(before, after) <= 0:
                continue
            score += (after > before) - (after < before)
            slopes.append(math.log(after / before) / (place[late] - place[early]))
    if used < MIN_POINTS or not slopes:
        return None
    # The correction for continuity: S moves in steps of 2.
    clear = max(abs(score) - 1, 0) / math.sqrt(variance)
    return OrderDrift(math.expm1(median(slopes)), math.erfc(clear / math.sqrt(2)), len(slopes))
