"""Each way of stopping, on streams of process medians made for it."""

from __future__ import annotations

import math
import random

import pytest

from costlab.measurement.statistics import median, relative_width, repeat_interval
from costlab.measurement.stopping import EXITS, GO_ON, StoppingRule, exit_of

_RULE = StoppingRule()


def _end(stream: list[float], rule: StoppingRule = _RULE, budget_s: float = 1e9) -> tuple[str, int]:
    """Feed the stream, a process per second; the exit and the number of processes."""
    for count in range(1, len(stream) + 1):
        taken = exit_of(stream[:count], rule, budget_s - count, 1.0)
        if taken:
            return taken, count
    return GO_ON, len(stream)


def test_a_quiet_stream_ends_at_the_least_number() -> None:
    stream = [1.0, 1.001, 0.999, 1.002, 1.0, 1.0]

    assert _end(stream) == ("tight", 5)


def test_a_stream_that_becomes_tight_later_goes_on_until_then() -> None:
    generator = random.Random(2)
    stream = [math.exp(generator.gauss(0.0, 0.02)) for _ in range(30)]

    taken, count = _end(stream)

    assert taken == "tight"
    assert count > 5
    assert relative_width(repeat_interval(stream[:count]), median(stream[:count])) <= 0.02


def test_steady_noise_ends_early_and_is_named() -> None:
    """Ten per cent in each direction for ever: twenty processes could not reach 2 %."""
    stream = [1.0 + 0.1 * math.sin(2.4 * index) for index in range(30)]

    taken, count = _end(stream)

    assert taken == "stable_noise"
    assert count < 20


def test_noise_that_still_grows_is_not_called_stable() -> None:
    stream = [1.0 * 1.25**index for index in range(30)]

    assert _end(stream) == ("most_processes", 20)


def test_time_up_comes_before_everything_else() -> None:
    assert _end([1.0] * 30, budget_s=3.5) == ("time_up", 3)
    assert exit_of([1.0], _RULE, left_s=0.0, next_s=0.0) == GO_ON
    assert exit_of([1.0], _RULE, left_s=-1.0, next_s=0.0) == "time_up"


def test_without_a_budget_exactly_the_number_asked_for_is_timed() -> None:
    rule = StoppingRule(least=7, fixed=True)

    assert _end([1.0, 2.0] * 10, rule) == ("fixed", 7)


@pytest.mark.parametrize("spread", [0.002, 0.01, 0.03, 0.1, 0.4])
def test_every_stream_ends_by_a_named_exit(spread: float) -> None:
    for seed in range(20):
        generator = random.Random(seed)
        taken, count = _end([math.exp(generator.gauss(0.0, spread)) for _ in range(25)])

        assert taken in EXITS
        assert 5 <= count <= 20


def test_processes_without_a_core_to_themselves_are_made_up_for() -> None:
    """Up to as many again as were asked for."""
    rule = StoppingRule(least=5, fixed=True)

    def taken(processes: int, alone: int) -> str:
        count = alone if alone >= 3 else processes
        return exit_of([1.0] * count, rule, None, 1.0, processes=processes, alone=alone)

    assert taken(5, 5) == "fixed"
    assert taken(5, 4) == GO_ON
    assert taken(6, 5) == "fixed"
    assert [taken(total, 1) for total in (5, 9, 10)] == [GO_ON, GO_ON, "fixed"]
