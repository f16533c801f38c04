"""Made-up devices whose true energy is known: a counter that steps, power that may lag."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from costlab.devices.readings import Reading, Sample, missing

Watts = Callable[[float], float]
STEP_S = 0.1


def joules(watts: Watts, start_s: float, end_s: float, pieces: int = 20_000) -> float:
    """The true energy, by the midpoint rule."""
    width = (end_s - start_s) / pieces
    return math.fsum(watts(start_s + (i + 0.5) * width) for i in range(pieces)) * width


class Meter:
    """A device that takes ``watts``, as NVML would show it."""

    def __init__(
        self,
        watts: Watts,
        *,
        phase_s: float = 0.0,
        averaging_s: float = 0.0,
        step_s: float = STEP_S,
    ) -> None:
        self._watts = watts
        self._phase_s = phase_s
        self._averaging_s = averaging_s
        self._step_s = step_s
        self._table = [0.0]

    def counter(self, time_s: float) -> Reading:
        """Energy up to the last step before ``time_s``."""
        steps = math.floor((time_s - self._phase_s) / self._step_s)
        while len(self._table) <= steps + 1:
            start_s = self._phase_s + (len(self._table) - 1) * self._step_s
            piece = joules(self._watts, start_s, start_s + self._step_s, 50)
            self._table.append(self._table[-1] + piece)
        return Reading(self._table[max(steps, 0)], "J", "counter")

    def power(self, time_s: float) -> Reading:
        """Power now, or its mean over the time before."""
        if not self._averaging_s:
            return Reading(self._watts(time_s), "W", "instant")
        begin_s = max(time_s - self._averaging_s, 0.0)
        energy = joules(self._watts, begin_s, time_s, 200) if time_s > begin_s else 0.0
        return Reading(
            energy / (time_s - begin_s) if time_s > begin_s else self._watts(0.0), "W", "average"
        )

    def sample(self, time_s: float, cost_s: float = 0.0) -> Sample:
        """The readings, taken at the end of the time they cost."""
        now = time_s + cost_s
        readings = {"energy": self.counter(now), "power": self.power(now)}
        return Sample(time_s, cost_s, "GPU-x", readings)


def without(samples: Iterable[Sample], name: str, reason: str) -> list[Sample]:
    """The samples with one reading missing."""
    return [
        Sample(one.time_s, one.cost_s, one.device, {
            **one.readings, name: missing(one.readings[name].unit, reason)
        })
        for one in samples
    ]  # fmt: skip


def clock_sample(mhz: float | None, bits: int | None = 0, reason: str = "not_supported") -> Sample:
    """A sample of the SM clock and the throttle reasons."""
    clock = missing("Hz", reason) if mhz is None else Reading(mhz * 1e6, "Hz")
    throttle = missing("bits", reason) if bits is None else Reading(bits, "bits")
    return Sample(0.0, 0.0, "GPU-x", {"sm_clock": clock, "throttle": throttle})
