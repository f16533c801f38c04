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

from costlab.measurement.point import ProcessTiming
from costlab.measurement.statistics import drift, median, relative_iqr

ALONE = 1.35
"""A probe up to this many times as long as the quickest had the core to itself."""
ENOUGH = 3
"""Samples taken alone that make a median."""

_STEPS = 400
# The first turn finds caches and predictors as the sample left them.
_TURNS = 3
_SEEK_EVERY_S = 0.02
_SURVEY_S = 0.05
_SURVEYED_CPUS = 8

Probe = Callable[[], float]


def probe_s() -> float:
    """Seconds of the fixed work, about 10 us: the quickest of three turns."""
    return min(_turn_s() for _ in range(_TURNS))


def _turn_s() -> float:
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


def _move(cpus: set[int]) -> None:
    try:
        os.sched_setaffinity(0, cpus)
    except OSError:
        # Taken from this process meanwhile: it stays where it is.
        return


def alone(timing: ProcessTiming, quickest_s: float) -> list[float]:
    """The samples of a process that had the core to themselves."""
    limit_s = ALONE * quickest_s
    pairs = zip(timing.samples_s, timing.probes_s, strict=True)
    return [sample for sample, probe in pairs if probe <= limit_s]


def was_alone(timing: ProcessTiming) -> bool:
    """Whether a process took enough samples alone, as far as it knew."""
    quickest_s = timing.probe_quickest_s
    return quickest_s is not None and len(alone(timing, quickest_s)) >= ENOUGH


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
    """Which processes count: those with enough samples taken alone, or else all.

    Processes that never had a core to themselves are left out, but never more than half of them,
    and never so that fewer than three are left.
    """
    everyone = list(range(len(timings)))
    kept = _kept(timings)
    if kept is None:
        return everyone
    good = [place for place in everyone if len(kept[place]) >= ENOUGH]
    few = len(good) < min(ENOUGH, len(timings)) or 2 * len(good) < len(timings)
    return everyone if few else good


def is_mostly_shared(timings: Sequence[ProcessTiming]) -> bool:
    """Whether so many samples shared their core that processes without any other count too."""
    kept = _kept(timings)
    return kept is not None and any(len(kept[place]) < ENOUGH for place in counted(timings))


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
