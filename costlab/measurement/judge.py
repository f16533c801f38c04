"""Decides what a point's timings are worth: status, interval, flags and reasons. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costlab.i18n import _
from costlab.measurement.point import PointSpec, ProcessTiming
from costlab.measurement.process import Outcome
from costlab.measurement.statistics import median, median_interval, relative_width

NOISY = 0.10
_ENOUGH_PROCESSES = 3
_FULL_CPU = 0.95
_DRIFT = 0.10
_POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to say about a point; times in seconds."""

    status: str
    time_s: float | None
    interval_s: tuple[float, float] | None
    flags: tuple[str, ...]
    reasons: Mapping[str, str]


def judge(
    spec: PointSpec,
    timings: Sequence[ProcessTiming],
    sound: bool,
    failure: Outcome | None,
    memory: Mapping[str, Any],
) -> Verdict:
    """Weigh a point.

    Noisy is a point whose interval reaches more than 10 % to each side of the median, or that has
    fewer than three process medians because the budget ended. A failure after the first process
    is named in the flags and does not take away what was measured.

    Flags: "interference" (others ran on the CPUs), "drift" (later samples differ from earlier),
    "few_processes", "not_a_number" (an output holds NaN), "allocation_retries" (CUDA's allocator
    had to free its cache), and the status of a failed later process.
    """
    reasons = _device_reasons(spec, memory)
    if failure is not None and (not timings or failure.status == "cancelled"):
        names = ["time_s", "time_interval_s"]
        if not memory:
            names += ["peak_bytes", "rss_peak_bytes", "device_bytes"]
        reasons.update(dict.fromkeys(names, failure.reason))
        return Verdict(failure.status, None, None, (), reasons)
    medians = [timing.median_s for timing in timings]
    centre = median(medians)
    interval = median_interval(medians)
    flags = _flags(spec, timings, sound, memory)
    if failure is not None:
        flags.append(failure.status)
        reasons["status"] = failure.reason
    few = len(medians) < _ENOUGH_PROCESSES
    if few:
        flags.append("few_processes")
    noisy = few or relative_width(interval, centre) > NOISY
    return Verdict(
        "noisy" if noisy else "ok", centre, (interval.low, interval.high), tuple(flags), reasons
    )


def _flags(
    spec: PointSpec, timings: Sequence[ProcessTiming], sound: bool, memory: Mapping[str, Any]
) -> list[str]:
    flags = []
    shares = [timing.cpu_share for timing in timings if timing.cpu_share is not None]
    # With several threads idle cores are normal, and on a GPU the CPU waits.
    if spec.device == "cpu" and spec.threads == 1 and shares and median(shares) < _FULL_CPU:
        flags.append("interference")
    if abs(median([timing.drift for timing in timings])) > _DRIFT:
        flags.append("drift")
    if not sound:
        flags.append("not_a_number")
    if memory.get("retries"):
        flags.append("allocation_retries")
    return flags


def _device_reasons(spec: PointSpec, memory: Mapping[str, Any]) -> dict[str, str]:
    reasons = {}
    if spec.device == "cpu":
        reasons["device_bytes"] = _("a CPU has no memory apart from the system's")
        energy = (
            _("the energy counter is not read")
            if _POWERCAP.exists()
            else _("this system has no energy counter (/sys/class/powercap)")
        )
    else:
        energy = _("the energy counter is not read")
    reasons.update(memory.get("reasons", {}))
    if "rss_peak_bytes" in memory and memory["rss_peak_bytes"] is None:
        reasons["rss_peak_bytes"] = _("this system does not report a resident peak (VmHWM)")
    return {**reasons, "energy_j": energy, "power_w": energy}
