"""Clock, throttling and temperature of fake devices against the samples timed meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab.devices.readings import Reading, Sample, missing
from costlab.measurement.judge_machine import judge_clock, judge_surroundings, summary_of
from costlab.measurement.point import ProcessTiming
from costlab.measurement.watch import Observation

_MAX = Reading(2e9, "Hz")


def _device(time_s: float, clock: float, *, throttle: int = 0, celsius: float = 50.0) -> Sample:
    return Sample(time_s, 0.0, "gpu", {
        "sm_clock": Reading(clock, "Hz"), "sm_clock_max": _MAX,
        "throttle": Reading(throttle, "bits"), "temperature": Reading(celsius, "°C"),
    })  # fmt: skip


def _timing(*samples_s: float) -> ProcessTiming:
    """Samples timed one per second from 10 s on."""
    return ProcessTiming(
        sorted(samples_s)[len(samples_s) // 2], samples_s, 1.0, 1, 1, 1.0, 0.0, 0.0,
        start_s=10.0, end_s=10.0 + len(samples_s),
    )  # fmt: skip


def test_samples_at_a_low_clock_leave_the_median_and_stay_in_the_data() -> None:
    timing = _timing(1.0, 1.0, 1.0, 3.0, 3.0)
    ramp = [_device(10.5 + i, clock) for i, clock in enumerate((2e9, 1.9e9, 2e9, 1e9, 0.9e9))]

    judged, flags = judge_clock(timing, ramp)

    assert judged.median_s == 1.0
    assert judged.samples_s == timing.samples_s
    assert flags == ("samples_discarded",)


def test_a_device_that_is_always_slow_keeps_its_row() -> None:
    timing = _timing(3.0, 3.1, 3.2)

    judged, flags = judge_clock(timing, [_device(10.5 + i, 1e9) for i in range(3)])

    assert judged.median_s == 3.1
    assert flags == ("throttled_throughout",)


def test_a_thermal_slow_down_is_named_whatever_the_clock_says() -> None:
    hot = [_device(10.5, 2e9), _device(11.5, 2e9), _device(12.5, 2e9, throttle=0x40)]

    judged, flags = judge_clock(_timing(1.0, 1.0, 9.0), hot)

    assert (judged.median_s, flags) == (1.0, ("samples_discarded",))


def test_a_device_that_warms_up_is_named() -> None:
    trace = [_device(10.5, 2e9, celsius=40.0), _device(12.5, 2e9, celsius=61.0)]

    assert judge_clock(_timing(1.0, 1.0, 1.0), trace)[1] == ("warmed_up",)
    before = [_device(2.0, 2e9, celsius=30.0), *trace[1:]]
    assert judge_clock(_timing(1.0, 1.0, 1.0), before)[1] == ()


@pytest.mark.parametrize(
    "samples",
    [
        [],
        [Sample(10.5, 0.0, "cpu", {"frequency": Reading(1e9, "Hz")})],
    ],
)
def test_without_a_clock_of_the_device_nothing_is_judged(samples: list[Sample]) -> None:
    timing = _timing(1.0, 2.0, 3.0)

    assert judge_clock(timing, samples) == (timing, ())
    assert judge_clock(replace(timing, start_s=None), [_device(1.0, 1.0)])[1] == ()


def test_an_unreadable_clock_is_unknown_not_slow() -> None:
    blind = Sample(10.5, 0.0, "gpu", {"sm_clock": missing("Hz", "not_supported")})

    judged, flags = judge_clock(_timing(1.0, 2.0, 3.0), [blind])

    assert (judged.median_s, flags) == (2.0, ("clock_unknown",))


def test_surroundings_are_named_once() -> None:
    seen = [Observation(others_cpus=1.0, costlabs=(1,)), Observation(others_cpus=1.5)]

    assert judge_surroundings(seen, cpus=2) == ("other_load", "other_costlab")
    assert judge_surroundings([Observation(others_cpus=0.01)], cpus=2) == ()


def test_another_process_on_the_gpu_is_named_where_processes_can_be_listed() -> None:
    def seen(*counts: Reading) -> list[Observation]:
        samples = [Sample(1.0, 0.0, "g", {"processes": count}) for count in counts]
        return [Observation(samples=tuple(samples))]

    assert judge_surroundings(seen(Reading(0, ""), Reading(1, "")), cpus=2) == ()
    assert judge_surroundings(seen(Reading(1, ""), Reading(2, "")), 2) == ("other_gpu_process",)
    assert judge_surroundings(seen(missing("", "container_pids")), cpus=2) == ()


def test_a_summary_has_a_range_or_a_reason_and_never_a_zero_for_missing() -> None:
    samples = [
        Sample(1.0, 0.0, "g", {"a": Reading(3.0, "W"), "b": missing("J", "no_data")}),
        Sample(2.0, 0.0, "g", {"a": Reading(5.0, "W"), "b": missing("J", "no_data")}),
    ]

    assert summary_of(samples) == {
        "a": {"unit": "W", "least": 3.0, "most": 5.0},
        "b": {"unit": "J", "reason": "no_data"},
    }
