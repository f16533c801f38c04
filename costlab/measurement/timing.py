"""Times a call within one process: warm up until it settles, then sample. No torch.

The caller gives a :class:`Stopwatch`, so that a CPU clock, CUDA events or a test's fake clock
serve alike.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from costlab.measurement.kept_memory import Heap
from costlab.measurement.lookout import Lookout
from costlab.measurement.point import ProcessTiming
from costlab.measurement.shared_core import MOSTLY_ALONE, Core, as_if_alone
from costlab.measurement.statistics import drift, halves_agree, median, relative_iqr

# What reading the CPU's clock twice costs, where a caller has not measured its own stopwatch.
_TIMER_S = 1e-7
_MAX_CALLS_PER_SAMPLE = 100_000
# Calls may turn out quicker than they were while warming up.
_MARGIN = 2
_COLD_SHARE = 0.5
# Blocks of calls longer than this are looked at from within too.
_LONG_S = 0.012


class Stopwatch(Protocol):
    """Times ``calls`` calls of ``action`` in a row, in seconds for all of them."""

    def __call__(self, action: Callable[[], object], calls: int) -> float: ...


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """Limits of one process, in seconds where they end in ``_s``.

    Warming up ends when the later half of it is as quick as the earlier one, at the latest after
    ``warmup_s``. Sampling ends when there are ``min_samples`` and ``min_time_s`` have passed, at
    the latest after ``max_time_s`` or ``max_samples`` (one sample at least). A sample is a block
    of so many calls that timing it costs at most ``timer_share`` of it. Where the core is shared
    with somebody, sampling goes on until there are ``min_samples`` taken alone, at the latest
    after ``patience_s`` more. ``cold_samples`` further
    calls are each timed after the caches were emptied; they take at most half as long as
    ``max_time_s``. ``probe_quickest_s`` is the quickest probe of a core known so far.
    """

    warmup_s: float = 1.0
    warmup_tolerance: float = 0.05
    min_samples: int = 10
    max_samples: int = 1000
    min_time_s: float = 0.3
    max_time_s: float = 3.0
    patience_s: float = 1.0
    timer_share: float = 1e-4
    cold_samples: int = 0
    probe_quickest_s: float | None = None


def wall_clock(action: Callable[[], object], calls: int) -> float:
    """Monotonic wall time on the CPU."""
    start = time.perf_counter_ns()
    for _ in range(calls):
        action()
    return (time.perf_counter_ns() - start) * 1e-9


def cpu_clock(action: Callable[[], object], calls: int) -> float:
    """CPU time of this process: what the wall clock would show if nothing else ran."""
    start = time.process_time_ns()
    for _ in range(calls):
        action()
    return (time.process_time_ns() - start) * 1e-9


def time_process(
    action: Callable[[], object],
    plan: TimingPlan,
    stopwatch: Stopwatch = wall_clock,
    between: Callable[[], None] | None = None,
    make_cold: Callable[[], None] | None = None,
    timer_s: float = _TIMER_S,
    core: Core | None = None,
) -> ProcessTiming:
    """Warm up and sample ``action`` with the garbage collector off.

    Args:
        action: one call of what is measured.
        plan: limits.
        stopwatch: what times it.
        between: run before every call, outside the timed part; with it every sample is one call.
        make_cold: empties the caches before each cold call, outside the timed part.
        timer_s: what timing a block costs besides the calls.
        core: tells which samples had the core to themselves; those make the median.
    """
    one = _Sampler(action, stopwatch, between)
    lookout: Lookout | None = None
    gc.collect()
    gc.disable()
    try:
        first_call_s = one.sample(1)
        warmup, settled = _warm_up(one, first_call_s, plan, timer_s)
        calls = one.block(median(warmup[-3:]) if warmup else first_call_s, plan, timer_s)
        start_s, cpu_start_s = time.monotonic(), time.process_time()
        if core is not None and core.cpus and warmup and median(warmup[-3:]) * calls > _LONG_S:
            lookout = Lookout(core)
        samples, probes, shares = _hot_samples(one, calls, plan, core, lookout)
        cpu_s, end_s = time.process_time() - cpu_start_s, time.monotonic()
        cold = _cold_samples(one, plan, make_cold)
    finally:
        gc.enable()
        if lookout is not None:
            lookout.close()
        if core is not None:
            core.leave()
    quickest_s = core.quickest_s if core is not None else None
    timing = ProcessTiming(
        median_s=median(samples),
        samples_s=tuple(samples),
        first_call_s=first_call_s,
        warmup_calls=one.calls_before_sampling(len(samples) * calls + len(cold)),
        calls_per_sample=calls,
        cpu_share=cpu_s / (end_s - start_s) if end_s > start_s else None,
        drift=drift(samples),
        relative_iqr=relative_iqr(samples),
        settled=settled,
        timer_share=timer_s / (median(samples) * calls) if median(samples) > 0 else None,
        cold_samples_s=cold,
        start_s=start_s,
        end_s=end_s,
        called_s=one.total_s,
        probes_s=tuple(probes),
        probe_quickest_s=quickest_s,
        shared_shares=tuple(shares),
    )
    return as_if_alone(timing, quickest_s)


class _Sampler:
    """Times blocks of calls and keeps count of them."""

    def __init__(
        self,
        action: Callable[[], object],
        stopwatch: Stopwatch,
        between: Callable[[], None] | None,
    ) -> None:
        self._action = action
        self._stopwatch = stopwatch
        self._between = between
        self._calls = 0
        self.total_s = 0.0

    def sample(self, calls: int) -> float:
        """Seconds for one call, the mean of a block of them."""
        if self._between is not None:
            self._between()
        block_s = self._stopwatch(self._action, calls)
        self._calls += calls
        self.total_s += block_s
        return block_s / calls

    def block(self, call_s: float, plan: TimingPlan, timer_s: float) -> int:
        """How many calls of ``call_s`` make a block beside which the timer does not count."""
        if self._between is not None:
            return 1
        needed = math.ceil(_MARGIN * timer_s / plan.timer_share / max(call_s, 1e-9))
        return min(max(1, needed), _MAX_CALLS_PER_SAMPLE)

    def calls_before_sampling(self, later: int) -> int:
        return self._calls - later


def _warm_up(
    one: _Sampler, first_call_s: float, plan: TimingPlan, timer_s: float
) -> tuple[list[float], bool]:
    """Calls until they find their memory, then blocks until the two halves of them agree.

    Returns:
        The blocks, and whether they came to agree in time.
    """
    warmup: list[float] = []
    typical = first_call_s
    deadline = time.perf_counter() + plan.warmup_s
    heap = Heap()
    while time.perf_counter() < deadline:
        typical = one.sample(1)
        if heap.has_settled():
            break
    while not (settled := halves_agree(warmup, plan.warmup_tolerance)):
        if time.perf_counter() >= deadline:
            break
        warmup.append(one.sample(one.block(typical, plan, timer_s)))
        typical = warmup[-1]
    return warmup, settled


def _hot_samples(
    one: _Sampler, calls: int, plan: TimingPlan, core: Core | None, lookout: Lookout | None
) -> tuple[list[float], list[float], list[float]]:
    """Samples, the longer of the probes before and after each, and how much of it was shared.

    No probes without a core, no shares without a lookout, whose own time is taken off.
    """
    samples: list[float] = []
    probes: list[float] = []
    shares: list[float] = []
    before_s = core.probe() if core is not None else 0.0
    start = time.perf_counter()
    while True:
        if core is not None and core.seek(before_s):
            one.sample(1)  # fills the caches of the new core
            before_s = core.probe()
        if lookout is None:
            samples.append(one.sample(calls))
        else:
            with lookout.watch():
                sample_s = one.sample(calls)
            samples.append(max(sample_s - lookout.used_s / calls, 0.0))
            shares.append(lookout.share)
        if core is not None:
            after_s = core.probe()
            probes.append(max(before_s, after_s))
            before_s = after_s
        elapsed = time.perf_counter() - start
        enough = len(samples) >= plan.min_samples and elapsed >= plan.min_time_s
        if enough and core is not None and elapsed < plan.min_time_s + plan.patience_s:
            free = shares or [0.0 if core.is_alone(probe_s) else 1.0 for probe_s in probes]
            enough = sum(share <= MOSTLY_ALONE for share in free) >= plan.min_samples
        if enough or elapsed >= plan.max_time_s or len(samples) >= plan.max_samples:
            return samples, probes, shares


def _cold_samples(
    one: _Sampler, plan: TimingPlan, make_cold: Callable[[], None] | None
) -> tuple[float, ...]:
    if make_cold is None:
        return ()
    samples: list[float] = []
    deadline = time.perf_counter() + _COLD_SHARE * plan.max_time_s
    while len(samples) < plan.cold_samples:
        make_cold()
        samples.append(one.sample(1))
        if time.perf_counter() >= deadline:
            break
    return tuple(samples)
