"""Times a call within one process: warm up until it settles, then sample. No torch.

The caller gives a :class:`Stopwatch`, so that a CPU clock, CUDA events or a test's fake clock
serve alike.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from costlab.measurement.point import ProcessTiming
from costlab.measurement.statistics import drift, halves_agree, median, relative_iqr

# Reading the clock twice takes about 0.1 us; a sample this long keeps that below 0.1 %.
_MIN_SAMPLE_S = 1e-4
_MAX_CALLS_PER_SAMPLE = 1000


class Stopwatch(Protocol):
    """Times ``calls`` calls of ``action`` in a row, in seconds for all of them."""

    def __call__(self, action: Callable[[], object], calls: int) -> float: ...


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """Limits of one process, in seconds where they end in ``_s``.

    Sampling ends when there are ``min_samples`` and ``min_time_s`` have passed, at the latest
    after ``max_time_s`` or ``max_samples`` (one sample at least).
    """

    warmup_s: float = 1.0
    warmup_tolerance: float = 0.05
    min_samples: int = 10
    max_samples: int = 1000
    min_time_s: float = 0.3
    max_time_s: float = 3.0


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
) -> ProcessTiming:
    """Warm up and sample ``action`` with the garbage collector off.

    Args:
        action: one call of what is measured.
        plan: limits.
        stopwatch: what times it.
        between: run before every call, outside the timed part; with it every sample is one call.
    """

    def sample(calls: int) -> float:
        if between is not None:
            between()
        return stopwatch(action, calls) / calls

    gc.collect()
    gc.disable()
    try:
        first_call_s = sample(1)
        warmup: list[float] = []
        deadline = time.perf_counter() + plan.warmup_s
        while time.perf_counter() < deadline and not halves_agree(warmup, plan.warmup_tolerance):
            warmup.append(sample(1))
        calls = 1
        if between is None:
            typical = median(warmup) if warmup else first_call_s
            calls = min(max(1, round(_MIN_SAMPLE_S / max(typical, 1e-9))), _MAX_CALLS_PER_SAMPLE)
        samples: list[float] = []
        cpu_start, start = time.process_time(), time.perf_counter()
        while True:
            samples.append(sample(calls))
            elapsed = time.perf_counter() - start
            enough = len(samples) >= plan.min_samples and elapsed >= plan.min_time_s
            if enough or elapsed >= plan.max_time_s or len(samples) >= plan.max_samples:
                break
        cpu_s = time.process_time() - cpu_start
    finally:
        gc.enable()
    return ProcessTiming(
        median_s=median(samples),
        samples_s=tuple(samples),
        first_call_s=first_call_s,
        warmup_calls=len(warmup) + 1,
        calls_per_sample=calls,
        cpu_share=cpu_s / elapsed if elapsed > 0 else None,
        drift=drift(samples),
        relative_iqr=relative_iqr(samples),
    )
