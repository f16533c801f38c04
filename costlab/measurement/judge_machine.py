"""What the machine's state during a timed pass says about its samples. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from costlab.devices.clocks import ClockRules, judge_clocks
from costlab.devices.readings import Reading, Sample, missing
from costlab.devices.thermal import warming
from costlab.measurement.point import ProcessTiming
from costlab.measurement.statistics import median
from costlab.measurement.watch import Observation, too_busy

_WARMER_C = 10.0


def judge_surroundings(observations: Sequence[Observation], cpus: int) -> tuple[str, ...]:
    """Flags about who else was there.

    "other_load": other processes kept more than a tenth of the CPUs busy. "other_costlab":
    another CostLab was measuring. "other_gpu_process": the GPU computed for another process too
    (NVML lists them; the worker is one).
    """
    flags = []
    if too_busy(observations, cpus):
        flags.append("other_load")
    if any(one.costlabs for one in observations):
        flags.append("other_costlab")
    counts = [
        sample.get("processes").value for one in observations for sample in one.samples
    ]  # fmt: skip
    if max((count for count in counts if count is not None), default=0) > 1:
        flags.append("other_gpu_process")
    return tuple(flags)


def judge_clock(
    timing: ProcessTiming, samples: Sequence[Sample], rules: ClockRules | None = None
) -> tuple[ProcessTiming, tuple[str, ...]]:
    """Leave out the samples during which the device was throttled; flags of what was seen.

    All samples stay in ``samples_s``; the median is that of the ones that stay. If most would
    go, none does, and the flag says so. A device without a clock reading (a CPU's cores each
    have their own) is not judged.

    Flags: those of ``devices.clocks.judge_clocks``, and "warmed_up" (the device became more than
    10 °C warmer while it was timed).
    """
    during = [sample for sample in samples if "sm_clock" in sample.readings]
    if not during or timing.start_s is None or timing.end_s is None:
        return timing, ()
    span_s = (timing.end_s - timing.start_s) / len(timing.samples_s)
    moments = [timing.start_s + (index + 0.5) * span_s for index in range(len(timing.samples_s))]
    nearest = [min(during, key=lambda one: abs(one.time_s - moment)) for moment in moments]
    judgement = judge_clocks(nearest, _reference(during), rules)
    kept = [timing.samples_s[index] for index in judgement.kept]
    flags = list(judgement.flags)
    # From idle to its first calls every device warms up; what counts is the timed part.
    timed = [one for one in during if timing.start_s <= one.time_s <= timing.end_s]
    warmer = warming([sample.get("temperature", "°C") for sample in timed])
    if warmer.value is not None and warmer.value > _WARMER_C:
        flags.append("warmed_up")
    return replace(timing, median_s=median(kept)), tuple(flags)


def _reference(samples: Sequence[Sample]) -> Reading:
    for sample in samples:
        reading = sample.get("sm_clock_max", "Hz")
        if reading.value is not None:
            return reading
    return missing("Hz", "not_read")


def summary_of(samples: Sequence[Sample]) -> dict[str, Any]:
    """For each reading its unit and its least and largest value, else the reason of none."""
    summary: dict[str, Any] = {}
    for name in dict.fromkeys(name for sample in samples for name in sample.readings):
        readings = [sample.get(name) for sample in samples]
        values = [one.value for one in readings if one.value is not None]
        found: Mapping[str, Any] = (
            {"unit": readings[-1].unit, "least": min(values), "most": max(values)}
            if values
            else {"unit": readings[-1].unit, "reason": readings[-1].reason}
        )
        summary[name] = dict(found)
    return summary
