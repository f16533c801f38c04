"""Status, interval and flags from synthetic processes."""

from __future__ import annotations

from typing import Any

from costlab.measurement.judge import Verdict, judge
from costlab.measurement.point import PointSpec, ProcessTiming
from costlab.measurement.process import Outcome

_SPEC = PointSpec("x", {"n": 2})
_MEMORY = {"peak_bytes": 12, "rss_peak_bytes": 34}


def _process(median_s: float, *, cpu_share: float = 1.0, drift: float = 0.0) -> ProcessTiming:
    return ProcessTiming(median_s, (median_s,), median_s, 1, 1, cpu_share, drift, 0.01)


def _judge(*processes: ProcessTiming, failure: Outcome | None = None, **more: Any) -> Verdict:
    return judge(
        more.get("spec", _SPEC), processes, more.get("sound", True), failure,
        more.get("memory", _MEMORY),
    )  # fmt: skip


def test_close_processes_are_ok() -> None:
    verdict = _judge(_process(1.00), _process(1.10), _process(1.05))

    assert (verdict.status, verdict.time_s) == ("ok", 1.05)
    assert verdict.interval_s == (1.00, 1.10)
    assert verdict.flags == ()


def test_quiet_processes_that_disagree_are_noisy() -> None:
    """Each process saw hardly any spread; only their medians show the noise."""
    assert _judge(_process(1.0), _process(1.5), _process(1.05)).status == "noisy"


def test_a_missing_reading_has_a_reason() -> None:
    reasons = _judge(_process(1.0), _process(1.0), _process(1.0)).reasons

    assert {"device_bytes", "energy_j", "power_w"} <= set(reasons)
    assert all(reasons.values())


def test_a_failure_without_any_timing_is_the_status() -> None:
    verdict = _judge(failure=Outcome("timeout", reason="too slow"), memory={})

    assert (verdict.status, verdict.time_s, verdict.interval_s) == ("timeout", None, None)
    for name in ("time_s", "peak_bytes", "rss_peak_bytes"):
        assert verdict.reasons[name] == "too slow"


def test_a_late_failure_keeps_what_was_measured() -> None:
    verdict = _judge(_process(1.0), _process(1.0), failure=Outcome("timeout", reason="no time"))

    assert (verdict.status, verdict.time_s) == ("noisy", 1.0)
    assert verdict.flags == ("timeout", "few_processes")


def test_cancel_wins_over_what_was_measured() -> None:
    verdict = _judge(_process(1.0), failure=Outcome("cancelled", reason="cancelled"))

    assert verdict.status == "cancelled"


def test_flags_name_interference_drift_and_wrong_results() -> None:
    disturbed = [_process(1.0, cpu_share=0.7, drift=0.2) for _ in range(3)]

    assert _judge(*disturbed, sound=False).flags == ("interference", "drift", "not_a_number")


def test_idle_cpus_are_no_interference_with_several_threads() -> None:
    disturbed = [_process(1.0, cpu_share=0.7) for _ in range(3)]

    assert _judge(*disturbed, spec=PointSpec("x", {"n": 2}, threads=2)).flags == ()
