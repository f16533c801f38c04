"""The sampling thread: periods without drift, its own cost, and its end."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import pytest

from costlab.devices.readers import TraceEnded
from costlab.devices.readings import Reading, Sample
from costlab.devices.sampler import Sampler


def reader_of(count: int | None = None) -> Callable[[], Sample]:
    """Reads stamped samples; the trace ends after ``count``."""
    numbers = itertools.count() if count is None else iter(range(count))

    def read() -> Sample:
        for number in numbers:
            return Sample(time.monotonic(), 0.0, "x", {"number": Reading(number, "")})
        raise TraceEnded("x")

    return read


def test_a_trace_is_read_to_its_end() -> None:
    sampler = Sampler([reader_of(4), reader_of(2)], period_s=0.001).start()

    assert sampler.wait(10)
    samples = sampler.stop()

    assert [one.readings["number"].value for one in samples] == [0, 0, 1, 1, 2, 3]
    assert sampler.cost.samples == 6


def test_a_tick_is_never_early() -> None:
    enough = threading.Event()
    times: list[float] = []

    def note(samples: tuple[Sample, ...]) -> None:
        times.append(samples[0].time_s)
        if len(times) == 8:
            enough.set()

    begin_s = time.monotonic()
    with Sampler([reader_of()], period_s=0.02, on_round=note, keep=False) as sampler:
        assert enough.wait(10)

    assert sampler.samples == ()
    # However late the machine wakes it, a tick is never early; the last round comes with the end.
    assert all(time_s > begin_s + 0.02 * i - 0.001 for i, time_s in enumerate(times[:8]))
    assert sampler.cost.missed >= 0


def test_missed_ticks_are_counted_and_not_made_up_for() -> None:
    numbers = iter(range(3))

    def slow() -> Sample:
        for number in numbers:
            time.sleep(0.03)
            return Sample(number, 0.0, "x", {})
        raise TraceEnded("x")

    sampler = Sampler([slow], period_s=0.01).start()
    assert sampler.wait(10)
    sampler.stop()

    assert sampler.cost.samples == 3
    assert sampler.cost.missed >= 3 * 2


def test_its_own_cost_is_measured_and_it_does_not_spin() -> None:
    enough = threading.Event()
    seen = itertools.count(1)

    def note(_samples: tuple[Sample, ...]) -> None:
        if next(seen) == 5:
            enough.set()

    with Sampler([reader_of()], period_s=0.04, on_round=note) as sampler:
        assert enough.wait(10)

    cost = sampler.cost
    assert 0 < cost.cpu_s < 0.05
    assert cost.elapsed_s >= 0.16
    assert cost.cpu_fraction is not None and cost.cpu_fraction < 0.3


def test_stop_takes_a_last_sample() -> None:
    first = threading.Event()
    read = reader_of()

    with Sampler([read], period_s=600, on_round=lambda _: first.set()) as sampler:
        assert first.wait(10)

    assert len(sampler.samples) == 2


def test_what_the_thread_raises_is_raised_by_stop() -> None:
    def broken() -> Sample:
        raise OSError("disk full")

    sampler = Sampler([broken], period_s=0.01).start()
    assert sampler.wait(10)

    with pytest.raises(OSError, match="disk full"):
        sampler.stop()


def test_a_period_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        Sampler([], period_s=0)
    assert Sampler([], period_s=1).cost.cpu_fraction is None
