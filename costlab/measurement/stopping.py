"""Decides after each timed process whether a point needs another one. Pure functions.

Every point says which way it ended, because "quiet enough" and "time was up" are not the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from costlab.measurement.statistics import log_deviation, median, relative_width, repeat_interval

GO_ON = ""
EXITS = {
    "tight": "the interval is within the limit",
    "stable_noise": "the noise no longer changes and is too large for the limit",
    "time_up": "another process would not fit into the budget",
    "most_processes": "the largest number of processes is reached",
    "fixed": "the number of processes that was asked for is reached",
}
"""Each way a point's timing ends, other than by a failure or a cancel."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When to stop.

    Attributes:
        least: processes timed in any case, unless time is up.
        most: processes timed at most.
        tight: half the interval's width over the median that is good enough.
        steady: how little the estimate of the noise (the deviation of the logarithms) may change
            from one process to the next, relative to itself, ...
        steps: ... over this many steps in a row, to count as stable.
        fixed: whether exactly ``least`` processes are timed, whatever they show.
        patience: times ``least`` that processes are timed in all, where some of them never had a
            core to themselves.
    """

    least: int = 5
    most: int = 20
    tight: float = 0.02
    steady: float = 0.05
    steps: int = 4
    fixed: bool = False
    patience: int = 2


def exit_of(
    medians_s: Sequence[float],
    rule: StoppingRule,
    left_s: float | None,
    next_s: float,
    processes: int | None = None,
    alone: int | None = None,
) -> str:
    """Name of the exit to take (a key of ``EXITS``), or ``GO_ON``.

    Args:
        medians_s: of the processes so far that count, in their order.
        rule: limits.
        left_s: what is left of the budget; None without one.
        next_s: how long another process is expected to take.
        processes: all so far; by default those that count.
        alone: those of them that had a core to themselves; by default all.
    """
    count = len(medians_s)
    if count and left_s is not None and left_s < next_s:
        return "time_up"
    processes = count if processes is None else processes
    alone = processes if alone is None else alone
    if alone < rule.least and processes < rule.patience * rule.least:
        return GO_ON
    if rule.fixed:
        return "fixed"
    width = relative_width(repeat_interval(medians_s), median(medians_s))
    if width <= rule.tight:
        return "tight"
    if processes >= rule.most:
        return "most_processes"
    if _stable(medians_s, rule) and _reachable(medians_s, rule) > rule.tight:
        return "stable_noise"
    return GO_ON


def _reachable(medians_s: Sequence[float], rule: StoppingRule) -> float:
    """The relative width to expect of the largest number of processes.

    Twice the deviation of the difference of two medians, each of variance pi / 2 times that of
    a mean.
    """
    return 2 * log_deviation(medians_s) * math.sqrt(math.pi / rule.most)


def _stable(medians_s: Sequence[float], rule: StoppingRule) -> bool:
    """Whether the noise has been the same over the last steps, outliers of early ones included."""
    first = len(medians_s) - rule.steps
    if first < rule.least:
        return False
    noise = [log_deviation(medians_s[:count]) for count in range(first, len(medians_s) + 1)]
    return all(abs(later / earlier - 1) <= rule.steady for earlier, later in pairwise(noise))
