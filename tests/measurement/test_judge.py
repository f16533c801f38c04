"""Status, interval and flags from synthetic processes."""

from __future__ import annotations

from typing import Any

from costlab.measurement.evidence import Evidence
from costlab.measurement.judge import Verdict, judge
from costlab.measurement.judge_results import ResultCheck
from costlab.measurement.point import PointSpec, ProcessTiming
from costlab.measurement.process import Outcome
from costlab.measurement.statistics import repeat_interval
from costlab.measurement.watch import Observation

_SPEC = PointSpec("x", {"n": 2})
_ANSWER = ((4.0, 2.0, 0.1, 0.2, 0.3),)
_CHECK = ResultCheck(_ANSWER, _ANSWER)
_MEMORY = {"peak_bytes": 12, "rss_peak_bytes": 34}


def _process(
    median_s: float, *, cpu_share: float = 1.0, drift: float = 0.0, **more: Any
) -> ProcessTiming:
    return ProcessTiming(median_s, (median_s,), median_s, 1, 1, cpu_share, drift, 0.01, **more)


def _judge(*processes: ProcessTiming, failure: Outcome | None = None, **more: Any) -> Verdict:
    evidence = Evidence(
        timings=list(processes), checks=[_CHECK] * len(processes), sound=more.get("sound", True),
        failure=failure, memory=dict(more.get("memory", _MEMORY)),
        observations=more.get("observations", []), flags=more.get("known", set()),
        retries=more.get("retries", 0),
    )  # fmt: skip
    return judge(more.get("spec", _SPEC), evidence, cpus=2)


def test_close_processes_are_ok() -> None:
    verdict = _judge(_process(1.00), _process(1.04), _process(1.02))

    assert (verdict.status, verdict.time_s) == ("ok", 1.02)
    interval = repeat_interval([1.00, 1.04, 1.02])
    assert verdict.interval_s == (interval.low, interval.high)
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


def test_other_load_and_other_costlabs_are_named() -> None:
    quiet = [_process(1.0) for _ in range(3)]
    seen = [Observation(), Observation(others_cpus=0.9), Observation(costlabs=(77,))]

    assert _judge(*quiet, observations=seen).flags == ("other_costlab", "other_load")
    assert _judge(*quiet, observations=[Observation(others_cpus=0.05)]).flags == ()


def test_a_warm_up_that_ended_by_time_and_a_costly_timer_are_named() -> None:
    processes = [_process(1.0, settled=False, timer_share=0.01) for _ in range(3)]

    assert _judge(*processes).flags == ("not_settled", "timer_cost")
    assert _judge(_process(1.0, settled=False), _process(1.0), _process(1.0)).flags == ()


def test_a_gpu_that_waits_for_the_cpu_is_named() -> None:
    processes = [_process(1.0, host_s=0.99) for _ in range(3)]

    assert _judge(*processes, spec=PointSpec("x", {"n": 2}, device="cuda")).flags == ("host_bound",)
    assert _judge(*processes).flags == ()


def test_what_was_known_before_judging_is_kept() -> None:
    assert _judge(*[_process(1.0)] * 3, known={"throttled_throughout"}).flags == (
        "throttled_throughout",
    )


def test_memory_that_ran_short_while_it_was_timed_leaves_no_time_but_the_memory() -> None:
    verdict = _judge(_process(1.0), _process(1.0), _process(1.0), retries=2)

    assert (verdict.status, verdict.time_s, verdict.interval_s) == ("oom", None, None)
    assert "allocation_retries" in verdict.flags
    assert "2 times" in verdict.reasons["time_s"]
    assert "peak_bytes" not in verdict.reasons
