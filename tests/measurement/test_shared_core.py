"""Samples taken while somebody else used the core, told apart by what a fixed work took."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab.measurement.evidence import Evidence
from costlab.measurement.judge import judge
from costlab.measurement.point import PointSpec, ProcessTiming
from costlab.measurement.shared_core import (
    ALONE,
    Core,
    as_if_alone,
    counted,
    probe_s,
    quick_s,
    quickest_of,
    shared_share,
    slow_down,
    were_alone,
)
from costlab.measurement.timing import TimingPlan, time_process

_QUICK_S, _SLOW_S = 10e-6, 21e-6
_PLAN = TimingPlan(
    warmup_s=0.0, min_samples=5, min_time_s=0.0, max_time_s=5.0, max_samples=400, patience_s=5.0
)


class Neighbour:
    """A machine whose cores are used by somebody else in the given turns of probes."""

    def __init__(self, uses: Callable[[int], bool]) -> None:
        self.uses = uses
        self.probes = 0

    def probe(self) -> float:
        self.probes += 1
        return _SLOW_S if self.uses(self.probes) else _QUICK_S

    def stopwatch(self, action: Callable[[], object], calls: int) -> float:
        action()
        return (1.9 if self.uses(self.probes) else 1.0) * calls


def _timing(samples: Sequence[float], probes: Sequence[float]) -> ProcessTiming:
    middle = sorted(samples)[len(samples) // 2]
    return ProcessTiming(
        middle, tuple(samples), 1.0, 3, 1, 1.0, 0.0, 0.0, probes_s=tuple(probes),
        probe_quickest_s=min(probes),
    )  # fmt: skip


def test_the_median_is_that_of_samples_taken_alone() -> None:
    """Two of three samples are disturbed, so that a plain median would be 1.9."""
    machine = Neighbour(lambda turn: turn % 6 < 4)

    timing = time_process(
        lambda: None, _PLAN, machine.stopwatch, core=Core(_QUICK_S, machine.probe, cpus=())
    )

    assert sorted(timing.samples_s)[len(timing.samples_s) // 2] == 1.9
    assert timing.median_s == 1.0
    assert sum(probe <= ALONE * _QUICK_S for probe in timing.probes_s) >= _PLAN.min_samples


def test_a_core_that_is_always_shared_ends_by_patience_and_keeps_every_sample() -> None:
    machine = Neighbour(lambda _turn: True)
    plan = replace(_PLAN, patience_s=0.0)

    timing = time_process(
        lambda: None, plan, machine.stopwatch, core=Core(_QUICK_S, machine.probe, cpus=())
    )

    assert len(timing.samples_s) == plan.min_samples
    assert timing.median_s == 1.9
    assert shared_share([timing]) == 1.0


def test_without_a_core_nothing_is_probed() -> None:
    timing = time_process(lambda: None, _PLAN, lambda _action, calls: 1.0 * calls)

    assert timing.probes_s == () and timing.probe_quickest_s is None
    assert shared_share([timing]) is None and quickest_of([timing]) is None


def test_processes_that_never_were_alone_do_not_count() -> None:
    alone = _timing([1.0, 1.1, 0.9], [_QUICK_S] * 3)
    shared = _timing([2.0, 2.1, 1.9], [_SLOW_S] * 3)

    assert counted([alone, shared, alone, alone]) == [0, 2, 3]
    assert counted([alone, *[shared] * 4, alone, alone]) == [0, 5, 6]
    # Too few would be left: then all count.
    assert counted([alone, shared, alone]) == [0, 1, 2]
    assert were_alone([alone, shared, alone]) == [0, 2]


def test_a_point_says_that_its_cores_were_shared() -> None:
    spec = PointSpec("rnn", {"n": 8})
    shared = _timing([2.0, 2.1, 1.9], [_SLOW_S] * 3)
    alone = _timing([1.0, 1.1, 0.9], [_QUICK_S] * 3)

    mixed = judge(spec, Evidence(timings=[alone, alone, alone, shared]), cpus=2)
    lost = judge(spec, Evidence(timings=[alone, shared, shared, shared]), cpus=2)

    assert (mixed.time_s, "shared_core" in mixed.flags) == (1.0, False)
    assert (lost.time_s, "shared_core" in lost.flags) == (2.0, True)


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_counting_never_leaves_fewer_than_three(alone: list[bool]) -> None:
    timings = [
        _timing([1.0] * 3, [_QUICK_S] * 3) if one else _timing([2.0] * 3, [_SLOW_S] * 3)
        for one in alone
    ]

    places = counted(timings)

    assert len(places) >= min(3, len(timings))
    assert places == sorted(set(places))


def test_a_seek_moves_to_a_core_that_is_free_and_leaving_lets_the_system_choose() -> None:
    if not hasattr(os, "sched_getaffinity"):  # threads cannot be moved here
        assert not Core(_QUICK_S, lambda: _SLOW_S).seek(_SLOW_S)
        return
    allowed = os.sched_getaffinity(0)
    last = max(allowed)

    def probe() -> float:
        return _QUICK_S if os.sched_getaffinity(0) == {last} else _SLOW_S

    core = Core(_QUICK_S, probe)
    moved = core.seek(core.probe())

    assert moved == (len(allowed) > 1)
    assert os.sched_getaffinity(0) == ({last} if moved else allowed)
    assert not core.seek(_SLOW_S), "it moves at most every 20 ms"
    core.leave()
    assert os.sched_getaffinity(0) == allowed


def test_the_fixed_work_takes_some_microseconds() -> None:
    assert 0 < min(probe_s() for _ in range(20)) < 1e-3


@given(
    alone_s=st.floats(1e-3, 10.0),
    factor=st.floats(0.0, 1.1),
    shares=st.lists(st.floats(0.0, 1.0), min_size=4, max_size=9),
)
def test_the_time_alone_follows_from_calls_shared_more_and_less(
    alone_s: float, factor: float, shares: list[float]
) -> None:
    shares = [0.0, 0.3, 0.45, 0.95, *shares]
    samples = [alone_s * (1 + factor * share) for share in shares]
    timing = replace(_timing(samples, [_SLOW_S] * len(samples)), shared_shares=tuple(shares))

    assert slow_down(timing) == pytest.approx(factor, abs=1e-6)
    assert as_if_alone(timing, _QUICK_S).median_s == pytest.approx(alone_s)


def test_without_a_contrast_only_calls_that_shared_little_count() -> None:
    timing = _timing([1.0, 1.1, 1.3, 1.2, 1.05], [_SLOW_S] * 5)
    alike = replace(timing, shared_shares=(0.1, 0.2, 0.3, 0.25, 0.15))

    assert slow_down(alike) is None
    assert as_if_alone(alike, _QUICK_S).median_s == 1.05
    assert as_if_alone(replace(alike, shared_shares=(0.9,) * 5), _QUICK_S).median_s == 1.1


def test_where_none_was_nearly_alone_those_shared_least_stand_in() -> None:
    """Half of a sample's looks are missing, so that shares are rough: the line is a fit."""
    shares = (0.4, 0.5, 0.9, 1.0, 0.95, 0.45, 1.0)
    samples = [1 + 0.5 * share for share in shares]
    samples[3] += 0.1
    timing = replace(_timing(samples, [_SLOW_S] * 7), shared_shares=shares)

    assert slow_down(timing) == pytest.approx(0.5, rel=0.1)
    assert as_if_alone(timing, _QUICK_S).median_s == pytest.approx(1.0, rel=0.02)
    much = replace(timing, shared_shares=tuple(share + 0.2 for share in shares))
    assert as_if_alone(much, _QUICK_S).median_s == timing.median_s


def test_quick_calls_are_of_samples_alone_or_of_all() -> None:
    samples = [1.0, 2.0, 1.2, 1.9, 1.1, 2.1]
    some = _timing(samples, [_QUICK_S, _SLOW_S] * 3)
    none = replace(some, probes_s=(_SLOW_S,) * 6)

    assert quick_s(some, _QUICK_S) == pytest.approx(1.02)
    assert quick_s(none, _QUICK_S) == pytest.approx(1.05)
    assert quick_s(replace(none, probes_s=()), None) == pytest.approx(1.05)
