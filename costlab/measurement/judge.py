"""Decides what a point's timings are worth: status, interval, flags and reasons. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from costlab.i18n import _
from costlab.measurement.evidence import Evidence
from costlab.measurement.judge_machine import judge_surroundings
from costlab.measurement.judge_results import judge_results
from costlab.measurement.point import PointSpec
from costlab.measurement.shared_core import is_mostly_shared
from costlab.measurement.statistics import median, relative_width, repeat_interval

RULES = 3
"""The version of these rules, stored with each point; one more whenever a limit or rule changes.

0: points of before rules had a number, whose intervals went from the least to the greatest value.
1: samples counted alike whether somebody else used the core or not.
2: processes that never had a core to themselves counted where they were more than half.
"""
FROM_SAMPLES = frozenset({
    "interference", "drift", "not_a_number", "not_settled", "timer_cost", "host_bound",
    "few_processes", "other_load", "other_costlab", "shared_core",
})  # fmt: skip
"""The flags that follow from what a point keeps, so that they can be found again."""

NOISY = 0.10
_ENOUGH_PROCESSES = 3
_FULL_CPU = 0.95
_DRIFT = 0.10
_TIMER_SHARE = 1e-3
_HOST_BOUND = 0.95


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to say about a point; times in seconds."""

    status: str
    time_s: float | None
    interval_s: tuple[float, float] | None
    flags: tuple[str, ...]
    reasons: Mapping[str, str]


def judge(spec: PointSpec, evidence: Evidence, cpus: int) -> Verdict:
    """Weigh a point.

    Noisy is a point whose interval reaches more than 10 % to each side of the median, or that has
    fewer than three process medians because the budget ended. A failure after the first process
    is named in the flags and does not take away what was measured. A device's memory that ran short
    while it was timed leaves no time ("oom"), since freeing the allocator's cache takes longer
    than most calls.

    Flags: "interference" (others ran on the CPUs), "drift" (later samples differ from earlier),
    "few_processes", "not_a_number" (an output holds NaN), "allocation_retries" (CUDA's allocator
    had to free its cache), "not_settled" (warm-ups ended by time), "timer_cost" (timing takes
    more than 0.1 % of a sample), "shared_core" (nearly all samples shared their core with
    somebody, so all count), "host_bound" (a GPU waits for the CPU), those of
    ``judge_machine`` and ``judge_results``, and the status of a failed later process.

    Args:
        spec: the point.
        evidence: what its passes brought.
        cpus: logical CPUs of the machine.
    """
    reasons = _reasons(spec, evidence)
    failure, timings = evidence.failure, evidence.timings
    if failure is not None and (not timings or failure.status == "cancelled"):
        names = ["time_s", "time_interval_s"]
        if not evidence.memory:
            names += ["peak_bytes", "rss_peak_bytes", "device_bytes"]
        reasons.update(dict.fromkeys(names, failure.reason))
        return Verdict(failure.status, None, None, (), reasons)
    if evidence.retries:
        why = _("memory ran short: the allocator freed its cache {count} times while it was timed")
        reasons.update(
            dict.fromkeys(("time_s", "time_interval_s"), why.format(count=evidence.retries))
        )
        return Verdict("oom", None, None, ("allocation_retries",), reasons)
    centre = median(evidence.medians)
    interval = repeat_interval(evidence.medians)
    flags = _flags(spec, evidence, cpus)
    if failure is not None:
        flags.append(failure.status)
        reasons["status"] = failure.reason
    few = len(evidence.medians) < _ENOUGH_PROCESSES
    if few:
        flags.append("few_processes")
    noisy = few or relative_width(interval, centre) > NOISY
    return Verdict(
        "noisy" if noisy else "ok", centre, (interval.low, interval.high), tuple(flags), reasons
    )


def _flags(spec: PointSpec, evidence: Evidence, cpus: int) -> list[str]:
    timings = evidence.timings
    flags = []
    share = evidence.typical("cpu_share")
    # With several threads idle cores are normal, and on a GPU the CPU waits.
    if spec.device == "cpu" and spec.threads == 1 and share is not None and share < _FULL_CPU:
        flags.append("interference")
    if abs(evidence.typical("drift") or 0.0) > _DRIFT:
        flags.append("drift")
    if is_mostly_shared(timings):
        flags.append("shared_core")
    if not evidence.sound:
        flags.append("not_a_number")
    if evidence.memory.get("retries"):
        flags.append("allocation_retries")
    if 2 * sum(not timing.settled for timing in timings) > len(timings):
        flags.append("not_settled")
    timer_share = evidence.typical("timer_share")
    if timer_share is not None and timer_share > _TIMER_SHARE:
        flags.append("timer_cost")
    host_s = evidence.typical("host_s")
    if spec.device != "cpu" and host_s and host_s > _HOST_BOUND * median(evidence.medians):
        flags.append("host_bound")
    fresh = evidence.memory.get("fresh")
    seen = evidence.flags.union(
        judge_surroundings(evidence.observations, cpus),
        *(judge_results(check, fresh, spec.dtype) for check in evidence.checks),
        evidence.energy.flags if evidence.energy else (),
    )
    return flags + sorted(seen)


def _reasons(spec: PointSpec, evidence: Evidence) -> dict[str, str]:
    memory, reasons = evidence.memory, {}
    if spec.device == "cpu":
        for name in ("device_bytes", "allocated_bytes", "reserved_bytes"):
            reasons[name] = _("a CPU has no memory apart from the system's")
    reasons.update(memory.get("reasons", {}))
    if "rss_peak_bytes" in memory and memory["rss_peak_bytes"] is None:
        reasons["rss_peak_bytes"] = _("this system does not report a resident peak (VmHWM)")
    if evidence.energy is not None and evidence.energy.reason:
        reasons.update(energy_j=evidence.energy.reason, power_w=evidence.energy.reason)
    elif evidence.energy is None:
        reasons.update(dict.fromkeys(("energy_j", "power_w"), _("the point ended before")))
    if evidence.timings and evidence.cold_time_s is None:
        reasons["cold_time_s"] = _("not asked for")
    return {**reasons, **evidence.reasons}
