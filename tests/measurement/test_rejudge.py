"""Stored points under rules that have changed since."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab.measurement import judge as rules
from costlab.measurement.judge import FROM_SAMPLES, RULES
from costlab.measurement.point import PassRecord, PointResult, ProcessTiming
from costlab.measurement.rejudge import rejudge


def _timing(median_s: float, cpu_share: float = 1.0) -> ProcessTiming:
    return ProcessTiming(
        median_s=median_s, samples_s=(median_s,), first_call_s=median_s, warmup_calls=3,
        calls_per_sample=1, cpu_share=cpu_share, drift=0.0, relative_iqr=0.01,
    )  # fmt: skip


_POINT = PointResult(
    point="p", architecture="a", mode="forward", dtype="float32", device="cpu", sizes={"n": 3},
    threads=1, status="ok", environment="e", time_s=1.0, time_interval_s=(0.99, 1.01),
    samples=(0.99, 1.0, 1.01), flags=("result_changed", "warmed_up"), reasons={"energy_j": "none"},
    processes=(_timing(0.99), _timing(1.0), _timing(1.01)),
    passes=(PassRecord("describe", "ok", 1.0), *[PassRecord("timing", "ok", 1.0)] * 3),
    peak_bytes=64,
)  # fmt: skip


def test_the_same_rules_give_the_same_status_and_keep_what_they_cannot_see() -> None:
    again = rejudge(_POINT, 2)

    assert (again.status, again.time_s, again.rules) == ("ok", 1.0, RULES)
    assert set(again.flags) == {"result_changed", "warmed_up"}
    assert (again.peak_bytes, again.reasons, again.processes) == (64, {"energy_j": "none"},
                                                                  _POINT.processes)  # fmt: skip
    assert rejudge(again, 2) == again


def test_a_stricter_rule_changes_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "NOISY", 0.001)

    assert rejudge(_POINT, 2).status == "noisy"


def test_flags_that_follow_from_the_samples_are_found_anew() -> None:
    disturbed = replace(
        _POINT,
        flags=("drift", "few_processes"),
        processes=tuple(_timing(1.0, cpu_share=0.5) for _ in range(3)),
        passes=tuple(PassRecord("timing", "ok", 1.0, others_cpus=1.5) for _ in range(3)),
    )

    assert set(rejudge(disturbed, 2).flags) == {"interference", "other_load"}


def test_a_point_that_failed_stays_failed() -> None:
    failed = replace(_POINT, status="oom", time_s=None, processes=(), flags=(), passes=())

    assert rejudge(failed, 2) == replace(failed, rules=RULES)


def test_a_failure_of_a_later_process_stays_named() -> None:
    cut = replace(_POINT, flags=("timeout", "few_processes"), processes=_POINT.processes[:2])

    again = rejudge(cut, 2)

    assert again.status == "noisy"
    assert set(again.flags) == {"timeout", "few_processes"}
    assert FROM_SAMPLES.isdisjoint({"timeout"})
