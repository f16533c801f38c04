"""Energy windows over made-up meters whose true energy is known."""

from __future__ import annotations

import itertools
import json
import math
import random

import pytest

from costlab.devices.energy import EnergyRules, await_step, energy_window
from costlab.devices.readings import Reading, Sample
from tests.devices.traces import Meter, joules, without


def steady(time_s: float) -> float:
    return 250.0


def bursts(time_s: float) -> float:
    return 300.0 + 100.0 * math.sin(7 * time_s) + (90.0 if time_s % 1.3 < 0.4 else 0.0)


def times(seconds: float, period_s: float = 0.1, start_s: float = 0.0) -> list[float]:
    return [start_s + period_s * i for i in range(round(seconds / period_s) + 1)]


@pytest.mark.parametrize("watts", [steady, bursts])
@pytest.mark.parametrize("period_s", [0.013, 0.05, 0.1, 0.137])
def test_a_counter_in_steps_stays_within_the_stated_bound(
    watts: object, period_s: float, seed: int
) -> None:
    draw = random.Random(seed)
    for _ in range(5):
        meter = Meter(watts, phase_s=draw.uniform(0, 0.1))  # type: ignore[arg-type]
        moments = [t + draw.uniform(0, period_s / 4) for t in times(6.3, period_s, 0.2)]

        window = energy_window([meter.sample(t, draw.uniform(0, 0.004)) for t in moments])

        assert window.counter.value and window.bound.value
        assert window.start_s is not None and window.end_s is not None
        true_j = joules(watts, window.start_s, window.end_s)  # type: ignore[arg-type]
        # Power between samples may exceed the highest one seen, by which the bound is stated.
        slack = 490.0 / max(meter.power(t).value or 0 for t in moments)
        assert abs(window.counter.value - true_j) <= window.bound.value * max(slack, 1.0)
        assert window.energy == window.counter
        assert window.bound.value / window.counter.value < 2.2 * (1.25 * period_s + 0.008) / 5


def test_unaligned_ends_would_have_cost_more() -> None:
    """What the steps' alignment is for: the same samples, first to last, are further off."""
    worst_aligned = worst_plain = 0.0
    for phase in range(10):
        meter = Meter(steady, phase_s=phase / 100)
        samples = [meter.sample(t) for t in times(5.35, 0.01, 0.2)]
        window = energy_window(samples)
        first, last = samples[0].readings["energy"].value, samples[-1].readings["energy"].value
        assert window.mean_power.value and first is not None and last is not None
        plain_w = (last - first) / (samples[-1].time_s - samples[0].time_s)
        worst_aligned = max(worst_aligned, abs(window.mean_power.value / 250 - 1))
        worst_plain = max(worst_plain, abs(plain_w / 250 - 1))

    assert worst_aligned < 0.003 < 0.006 < worst_plain


def test_counter_and_integral_are_both_kept_and_agree_under_steady_load() -> None:
    meter = Meter(steady)

    window = energy_window([meter.sample(t) for t in times(6)])

    assert window.integral.value == pytest.approx(250 * (window.duration_s or 0))
    assert window.disagreement.value is not None
    assert window.disagreement.value < 0.02
    assert window.flags == ()
    assert window.power_source == "instant"


def test_a_lagging_average_is_flagged_and_named() -> None:
    """A load that rises: power averaged over the last second has not seen all of it."""
    meter = Meter(lambda t: 60.0 if t < 2.5 else 600.0, averaging_s=1.0)

    window = energy_window([meter.sample(t) for t in times(6)])

    assert window.integral.value is not None and window.counter.value is not None
    assert window.integral.value < 0.95 * window.counter.value
    assert window.flags == ("counter_power_disagree",)
    assert window.power_source == "average"


def test_idle_baseline_stays_apart() -> None:
    idle = energy_window([Meter(lambda t: 70.0).sample(t) for t in times(6)])

    window = energy_window([Meter(steady).sample(t) for t in times(6)], idle=idle)

    assert window.idle_power.value == pytest.approx(70, rel=0.03)
    assert window.energy.value is not None and window.duration_s
    assert window.dynamic.value == pytest.approx(
        window.energy.value - (window.idle_power.value or 0) * window.duration_s
    )


def test_no_idle_baseline_leaves_dynamic_energy_null() -> None:
    window = energy_window([Meter(steady).sample(t) for t in times(6)])

    assert window.dynamic.value is None
    assert window.dynamic.reason == "no_idle_baseline"


def test_idle_that_exceeds_the_load_is_flagged() -> None:
    idle = energy_window([Meter(steady).sample(t) for t in times(6)])

    window = energy_window([Meter(lambda t: 90.0).sample(t) for t in times(6)], idle=idle)

    assert window.flags == ("below_idle",)


def test_idle_by_counter_and_load_by_power_is_flagged() -> None:
    samples = [Meter(steady).sample(t) for t in times(6)]
    idle = energy_window(samples)

    window = energy_window(without(samples, "energy", "energy_before_volta"), idle=idle)

    assert "idle_from_another_source" in window.flags


def test_a_gap_rejects_the_window() -> None:
    samples = [Meter(steady).sample(t) for t in times(8) if not 3 < t < 4.2]

    window = energy_window(samples)

    assert window.energy.value is None
    assert window.energy.reason == "gap_in_samples"
    assert "1.2" in window.energy.text
    assert window.mean_power.reason == "gap_in_samples"
    assert window.integral.reason == window.disagreement.reason == "gap_in_samples"


def test_samples_that_failed_are_a_gap_too() -> None:
    meter = Meter(steady)
    samples = [meter.sample(t) for t in times(8)]
    samples[30:45] = without(samples[30:45], "energy", "timeout")

    window = energy_window(samples)

    assert window.counter.reason == "gap_in_samples"
    assert window.integral.value is not None
    assert window.flags == ("integral_only",)


def test_a_gap_just_under_the_limit_is_accepted() -> None:
    samples = [Meter(steady).sample(t) for t in times(8) if not 3.05 < t < 3.95]

    assert energy_window(samples).energy.value is not None


def test_a_short_window_is_rejected() -> None:
    window = energy_window([Meter(steady).sample(t) for t in times(4.9)])

    assert window.energy.reason == "window_short"
    assert energy_window(
        [Meter(steady).sample(t) for t in times(4.9)], rules=EnergyRules(least_s=4)
    ).energy.value


def test_without_a_counter_the_integral_stands_and_says_so() -> None:
    samples = [Meter(steady).sample(t) for t in times(6)]

    window = energy_window(without(samples, "energy", "energy_before_volta"))

    assert window.energy == window.integral
    assert window.energy.value == pytest.approx(250 * 6)
    assert window.counter.reason == window.disagreement.reason == "energy_before_volta"
    assert window.bound.value is None
    assert window.flags == ("integral_only",)


def test_without_power_the_counter_stands() -> None:
    samples = [Meter(steady).sample(t) for t in times(6)]

    window = energy_window(without(samples, "power", "no_power_sensor"))

    assert window.energy == window.counter
    assert window.integral.reason == window.disagreement.reason == "no_power_sensor"


def test_nothing_readable_is_null_with_the_reason() -> None:
    samples = [Meter(steady).sample(t) for t in times(6)]
    bare = without(without(samples, "energy", "mig_whole_card"), "power", "mig_whole_card")

    window = energy_window(bare)

    assert window.energy.value is None
    assert window.energy.reason == window.integral.reason == "mig_whole_card"
    assert window.duration_s is None


def test_no_samples_give_a_reason() -> None:
    window = energy_window([])

    assert window.energy.reason == "too_few_samples"
    assert window.flags == ()


def test_a_counter_that_stands_still_is_not_zero_joules() -> None:
    samples = [
        Sample(t, 0.0, "GPU-x", {"energy": Reading(7.0, "J"), "power": Reading(50.0, "W")})
        for t in times(6)
    ]

    window = energy_window(samples)

    assert window.counter.value is None
    assert window.counter.reason == "counter_still"
    assert window.energy.value == pytest.approx(300)


def test_a_counter_that_runs_backwards_is_refused() -> None:
    samples = [Meter(steady).sample(t) for t in times(3)]
    samples += [Meter(steady).sample(t) for t in times(3)]

    assert energy_window(samples).counter.reason == "counter_reset"


def test_a_window_is_plain_data() -> None:
    window = energy_window([Meter(steady).sample(t) for t in times(6)])

    data = json.loads(json.dumps(window.to_json()))

    assert data["energy"]["value"] == window.energy.value
    assert data["dynamic"] == {
        "value": None, "unit": "J", "reason": "no_idle_baseline", "text": window.dynamic.text
    }  # fmt: skip


def test_await_step_returns_the_samples_around_a_step_and_pauses_between() -> None:
    meter = Meter(steady, phase_s=0.03)
    clock = itertools.count(200)
    pauses: list[float] = []

    found = await_step(lambda: meter.sample(next(clock) / 1000), pauses.append)

    assert found is not None
    before, after = found
    assert before.time_s == pytest.approx(0.229)
    assert after.time_s == pytest.approx(0.230)
    assert len(pauses) == 30


@pytest.mark.parametrize("readable", [True, False])
def test_await_step_gives_up(readable: bool) -> None:
    clock = itertools.count()

    def read() -> Sample:
        sample = Sample(next(clock) / 10, 0.0, "GPU-x", {"energy": Reading(5.0, "J")})
        return sample if readable else without([sample], "energy", "timeout")[0]

    assert await_step(read, lambda _: None) is None
    assert next(clock) <= 13
