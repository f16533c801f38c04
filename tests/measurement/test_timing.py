"""The timing loop with clocks that tests control."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from costlab.measurement.timing import TimingPlan, time_process, wall_clock


class FakeStopwatch:
    """Runs the action and claims the times of a list, then the last one for ever."""

    def __init__(self, times_s: list[float]) -> None:
        self.times_s = times_s
        self.calls: list[int] = []

    def __call__(self, action: Callable[[], object], calls: int) -> float:
        for _ in range(calls):
            action()
        self.calls.append(calls)
        index = min(len(self.calls), len(self.times_s)) - 1
        return self.times_s[index] * calls


_PLAN = TimingPlan(warmup_s=5.0, min_samples=7, min_time_s=0.0, max_time_s=5.0, max_samples=50)


def test_warm_up_is_kept_out_of_the_samples() -> None:
    stopwatch = FakeStopwatch([9.0, 5.0, 4.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])

    timing = time_process(lambda: None, _PLAN, stopwatch)

    assert timing.first_call_s == 9.0
    assert timing.samples_s == (1.0,) * 7
    assert timing.median_s == 1.0
    # First call, then until the earlier half of the warm-up is as quick as the later one.
    assert timing.warmup_calls == len(stopwatch.calls) - 7


def test_short_calls_are_timed_in_blocks() -> None:
    """A timer of 0.1 us is 1e-4 of a block of 1 ms; twice that leaves room."""
    timing = time_process(lambda: None, _PLAN, FakeStopwatch([1e-6]), timer_s=1e-7)

    assert timing.calls_per_sample == 2000
    assert timing.timer_share == pytest.approx(0.5e-4)
    assert timing.median_s == pytest.approx(1e-6)


@pytest.mark.parametrize("call_s", [3e-8, 1.7e-6, 4e-4, 0.2])
def test_the_timer_never_costs_more_than_its_share(call_s: float) -> None:
    timing = time_process(lambda: None, _PLAN, FakeStopwatch([call_s]), timer_s=2e-7)

    assert timing.timer_share is not None and timing.timer_share <= 1e-4 * (1 + 1e-9)


def test_a_warm_up_that_does_not_settle_ends_by_time_and_says_so() -> None:
    plan = TimingPlan(warmup_s=0.01, min_samples=3, min_time_s=0.0)
    falling = [0.9**index for index in range(200_000)]

    timing = time_process(lambda: None, plan, FakeStopwatch(falling))

    assert not timing.settled
    assert len(timing.samples_s) == 3


def test_cold_calls_are_apart_and_emptying_is_outside_the_timed_part() -> None:
    order: list[str] = []

    def stopwatch(action: Callable[[], object], calls: int) -> float:
        order.append("start")
        for _ in range(calls):
            action()
        order.append("stop")
        return calls * (7e-3 if "cold" in order else 1e-3)

    plan = TimingPlan(warmup_s=5.0, min_samples=4, min_time_s=0.0, cold_samples=3)
    timing = time_process(
        lambda: order.append("call"), plan, stopwatch, make_cold=lambda: order.append("cold")
    )

    first = order.index("cold")
    assert order[first:] == ["cold", "start", "call", "stop"] * 3
    assert timing.samples_s == pytest.approx((1e-3,) * 4)
    assert timing.cold_samples_s == pytest.approx((7e-3,) * 3)
    assert timing.median_s == pytest.approx(1e-3)


def test_all_calls_are_accounted_for() -> None:
    stopwatch = FakeStopwatch([2e-3])

    timing = time_process(lambda: None, _PLAN, stopwatch)

    assert timing.called_s == pytest.approx(2e-3 * sum(stopwatch.calls))
    assert timing.start_s is not None and timing.end_s is not None
    assert timing.warmup_calls == sum(stopwatch.calls) - 7 * timing.calls_per_sample


def test_between_runs_before_every_call_and_outside_the_timed_part() -> None:
    order: list[str] = []

    def stopwatch(action: Callable[[], object], calls: int) -> float:
        assert calls == 1
        order.append("start")
        action()
        order.append("stop")
        return 1e-6

    timing = time_process(
        lambda: order.append("call"), _PLAN, stopwatch, lambda: order.append("between")
    )

    assert timing.calls_per_sample == 1
    assert order == ["between", "start", "call", "stop"] * (len(order) // 4)


def test_a_slow_call_is_sampled_once_when_time_is_up() -> None:
    plan = TimingPlan(warmup_s=0.0, min_samples=10, min_time_s=1.0, max_time_s=0.0)

    timing = time_process(lambda: None, plan)

    assert len(timing.samples_s) == 1


def test_the_collector_is_off_inside_and_on_again_after() -> None:
    states: list[bool] = []

    def fail() -> None:
        states.append(gc.isenabled())
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        time_process(fail, _PLAN)

    assert states == [False]
    assert gc.isenabled()


def test_wall_clock_measures_all_calls() -> None:
    seen: list[int] = []

    elapsed_s = wall_clock(lambda: seen.append(1), 5)

    assert len(seen) == 5
    assert elapsed_s > 0
