"""Tells whether somebody else computes on this core: a fixed piece of work takes longer then.

Two hardware threads share a physical core. On a rented machine the other thread belongs to a
neighbour whom no counter of this system shows (its steal time stays 0), and who comes and goes
within milliseconds: scalar code then takes twice as long, matrix products a quarter longer. The
fixed work takes as long as it takes when alone, or about twice that, and little in between, so a
probe before and after a sample tells which samples had the core to themselves. No torch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations

from costlab.measurement.c_library import c_function
from costlab.measurement.point import ProcessTiming
from costlab.measurement.statistics import drift, median, quantile, relative_iqr

ALONE = 1.45
"""A probe up to this many times as long as the quickest had the core to itself: on the machine
where this was written probes take 1.0 to 1.4 times the quickest, or 1.6 to 2.3, hardly any between.
"""
ENOUGH = 3
"""Samples taken alone that make a median."""

MOSTLY_ALONE = 0.2
"""A long call that shared up to this part of it counts as it is."""

# Where too few shared so little, the few that shared least stand in, up to here, if it is known how
# much longer the shared part took.
_LEAST, _HALF = 5, 0.5
# A pair of samples tells it if their shares are so far apart; so many pairs do; no work takes
# longer than twice and a little.
_APART, _PAIRS, _MOST = 0.25, 6, 1.2
_MOST_PAIRED = 60
_QUICK = 0.1

_STEPS = 400
# The first turn finds caches and predictors as the sample left them.
_TURNS = 3
_SEEK_EVERY_S = 0.02
_SURVEY_S = 0.05
_SURVEYED_CPUS = 8

Probe = Callable[[], float]


def probe_s() -> float:
    """Seconds of the fixed work, about 10 us: the quickest of three turns."""
    return min(turn_s() for _ in range(_TURNS))


def turn_s() -> float:
    """Seconds of the fixed work, once."""
    start = time.perf_counter_ns()
    total = 0
    for step in range(_STEPS):
        total += step
    return (time.perf_counter_ns() - start) * 1e-9


class Core:
    """The core that this thread runs on, and the way to another one.

    Args:
        quickest_s: the quickest probe known of this machine; None where none is known.
        probe: gives the seconds of the fixed work.
        cpus: those to move among; by default those this process may use. Where a system cannot
            move threads, there is none.
    """

    def __init__(
        self,
        quickest_s: float | None = None,
        probe: Probe = probe_s,
        cpus: Sequence[int] | None = None,
    ) -> None:
        self._probe = probe
        self._quickest_s = quickest_s or float("inf")
        self.cpus = tuple(sorted(_allowed())) if cpus is None else tuple(cpus)
        self._next_seek_s = 0.0

    @property
    def quickest_s(self) -> float:
        return self._quickest_s

    def probe(self) -> float:
        """Seconds of the fixed work now."""
        found_s = self._probe()
        self._quickest_s = min(self._quickest_s, found_s)
        return found_s

    def is_alone(self, found_s: float) -> bool:
        return found_s <= ALONE * self._quickest_s

    def seek(self, found_s: float) -> bool:
        """Where the last probe ``found_s`` says that the core is shared, move to one that is not.

        Returns:
            Whether it moved; at most every 20 ms.
        """
        now = time.monotonic()
        if self.is_alone(found_s) or len(self.cpus) < 2 or now < self._next_seek_s:
            return False
        self._next_seek_s = now + _SEEK_EVERY_S
        found = []
        for cpu in self.cpus:
            _move({cpu})
            found.append((self.probe(), cpu))
            if self.is_alone(found[-1][0]):
                return True
        _move({min(found)[1]})
        return True

    def share_with(self, thread: int | None) -> None:
        """Stay where this thread is now, together with ``thread`` (its number in the system)."""
        cpu = _current_cpu()
        if cpu is not None and thread is not None:
            _move({cpu})
            _move({cpu}, thread)

    def leave(self) -> None:
        """Let the system choose again."""
        if len(self.cpus) > 1:
            _move(set(self.cpus))


def tells(device: str, threads: int) -> bool:
    """Whether the state of one core says enough about a run on ``device``.

    It does not on a GPU, whose work the CPU only starts, and with several threads.
    """
    return device == "cpu" and threads == 1


@cache
def survey_s() -> float:
    """The quickest probe on this machine's cores, 50 ms on each of up to eight; found once."""
    core = Core()
    for cpu in core.cpus[:_SURVEYED_CPUS] or (None,):
        if cpu is not None:
            _move({cpu})
        end_s = time.monotonic() + _SURVEY_S
        while time.monotonic() < end_s:
            core.probe()
    core.leave()
    return core.quickest_s


def _allowed() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _current_cpu() -> int | None:
    find = c_function("sched_getcpu")
    return None if find is None else find()


def _move(cpus: set[int], thread: int = 0) -> None:
    try:
        os.sched_setaffinity(thread, cpus)
    except OSError:
        # Taken from this process meanwhile: it stays where it is.
        return


def alone(timing: ProcessTiming, quickest_s: float) -> list[float]:
    """The samples of a process that had the core to themselves.

    Long calls never have it throughout; what they take without a neighbour follows from how much
    of each was shared, see :func:`slow_down`.
    """
    if timing.shared_shares:
        return _least_shared(timing)
    limit_s = ALONE * quickest_s
    pairs = zip(timing.samples_s, timing.probes_s, strict=True)
    return [sample for sample, probe in pairs if probe <= limit_s]


def _least_shared(timing: ProcessTiming) -> list[float]:
    shares = timing.shared_shares
    factor = slow_down(timing)
    chosen = {place for place, share in enumerate(shares) if share <= MOSTLY_ALONE}
    if len(chosen) < ENOUGH and factor is not None:
        least = sorted(range(len(shares)), key=shares.__getitem__)[:_LEAST]
        chosen = {place for place in least if shares[place] <= _HALF}
    return [
        time_s / (1 + (factor or 0.0) * shares[place])
        for place, time_s in enumerate(timing.samples_s)
        if place in chosen
    ]


def slow_down(timing: ProcessTiming) -> float | None:
    """By which part a call takes longer on a shared core, from its samples shared more and less.

    Theil and Sen's line through ``t = alone * (1 + factor * share)``; None where too few pairs of
    samples differ. Products take 0.3 to 0.5 longer, scalar code 0.8 to 1.
    """
    samples = list(zip(timing.shared_shares, timing.samples_s, strict=True))[:_MOST_PAIRED]
    slopes = [
        (more_s - less_s) / (more - less)
        for (less, less_s), (more, more_s) in combinations(sorted(samples), 2)
        if more - less >= _APART
    ]
    if len(slopes) < _PAIRS:
        return None
    slope = max(median(slopes), 0.0)
    alone_s = median([time_s - slope * share for share, time_s in samples])
    return min(slope / alone_s, _MOST) if alone_s > 0 else _MOST


def was_alone(timing: ProcessTiming) -> bool:
    """Whether a process took enough samples alone, as far as it knew."""
    quickest_s = timing.probe_quickest_s
    return quickest_s is not None and len(alone(timing, quickest_s)) >= ENOUGH


def quick_s(timing: ProcessTiming, quickest_s: float | None) -> float:
    """The tenth percentile of the samples taken alone if they are enough, or else of all."""
    kept = alone(timing, quickest_s) if quickest_s is not None and timing.probes_s else []
    return quantile(kept if len(kept) >= ENOUGH else timing.samples_s, _QUICK)


def quickest_of(timings: Sequence[ProcessTiming]) -> float | None:
    """The quickest probe that any of the processes knew of; None where none was probed."""
    known = [one.probe_quickest_s for one in timings if one.probe_quickest_s is not None]
    return min(known, default=None)


def shared_share(timings: Sequence[ProcessTiming]) -> float | None:
    """The share of samples taken while the core was shared; None where it was not looked for."""
    kept = _kept(timings)
    if kept is None:
        return None
    return 1 - sum(map(len, kept)) / sum(len(one.samples_s) for one in timings)


def counted(timings: Sequence[ProcessTiming]) -> list[int]:
    """Which processes count: those with enough samples taken alone if there are three such, or
    else all.
    """
    good = were_alone(timings)
    return good if len(good) >= ENOUGH else list(range(len(timings)))


def were_alone(timings: Sequence[ProcessTiming]) -> list[int]:
    """The processes with enough samples taken alone; all where nobody looked."""
    kept = _kept(timings)
    if kept is None:
        return list(range(len(timings)))
    return [place for place, samples in enumerate(kept) if len(samples) >= ENOUGH]


def is_mostly_shared(timings: Sequence[ProcessTiming]) -> bool:
    """Whether so many samples shared their core that processes without any other count too."""
    return len(were_alone(timings)) < min(ENOUGH, len(timings))


def _kept(timings: Sequence[ProcessTiming]) -> list[list[float]] | None:
    """The samples of each process taken alone; None unless all of them looked for it."""
    quickest_s = quickest_of(timings)
    if quickest_s is None or not all(one.probes_s for one in timings):
        return None
    return [alone(one, quickest_s) for one in timings]


def as_if_alone(timing: ProcessTiming, quickest_s: float | None) -> ProcessTiming:
    """The process with median, drift and spread of the samples taken alone, if they are enough."""
    if quickest_s is None or not timing.probes_s:
        return timing
    kept = alone(timing, quickest_s)
    if len(kept) < ENOUGH:
        return timing
    return replace(
        timing, median_s=median(kept), drift=drift(kept), relative_iqr=relative_iqr(kept)
    )
