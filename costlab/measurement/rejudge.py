"""Judges a stored point again, by the rules of this version, from the samples it keeps. Pure."""

from __future__ import annotations

from dataclasses import replace

from costlab.measurement.evidence import Evidence
from costlab.measurement.judge import FROM_SAMPLES, RULES, judge
from costlab.measurement.point import PointResult, PointSpec
from costlab.measurement.shared_core import shared_share
from costlab.measurement.watch import Observation


def rejudge(point: PointResult, cpus: int) -> PointResult:
    """The point as it would be stored today.

    Time, interval, status and the flags ``judge.FROM_SAMPLES`` are found anew. What rests on
    answers and clock readings that are not stored with the point stays as it was judged then, as
    does a point without a timed process.

    Args:
        point: with its raw samples.
        cpus: logical CPUs of the machine it was measured on.
    """
    if not point.processes:
        return replace(point, rules=RULES)
    spec = PointSpec(
        point.architecture, point.sizes, point.mode, point.dtype, point.device, point.threads,
        point.options,
    )  # fmt: skip
    evidence = Evidence(
        timings=list(point.processes),
        observations=[
            Observation(one.others_cpus, tuple(range(one.costlabs)))
            for one in point.passes
            if one.name == "timing"
        ],
        sound="not_a_number" not in point.flags,
        flags=set(point.flags) - FROM_SAMPLES,
        reasons=dict(point.reasons),
    )
    verdict = judge(spec, evidence, cpus)
    return replace(
        point, status=verdict.status, time_s=verdict.time_s, time_interval_s=verdict.interval_s,
        samples=evidence.medians, quick_samples=evidence.quick,
        shared=shared_share(evidence.timings), flags=verdict.flags, reasons=point.reasons,
        rules=RULES,
    )  # fmt: skip
