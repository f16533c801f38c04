"""The timed pass of one process: answers checked before and after, timing between. Needs torch.

Nothing else is measured here: memory, energy and profiles have passes of their own, because what
watches them slows the calls.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

import torch

from costlab.measurement.backend import Action, Backend
from costlab.measurement.inputs import Variation, are_constant
from costlab.measurement.judge_results import ResultCheck
from costlab.measurement.kept_memory import keep_freed_memory
from costlab.measurement.memory import resident_peak_bytes
from costlab.measurement.point import PointSpec
from costlab.measurement.process import memory_state
from costlab.measurement.program import Runnable, is_sound
from costlab.measurement.shared_core import Core, tells
from costlab.measurement.signature import Signature, signature_of
from costlab.measurement.timing import TimingPlan, time_process
from costlab.sources.program import tensors_of

_TIMER_TRIALS = 101
_VARIED_CALLS = 3
_LONG_CALL_S = 0.1
_SEED = 7


def timed_pass(
    spec: PointSpec, backend: Backend, runnable: Runnable, plan: TimingPlan, *, vary: bool
) -> dict[str, Any]:
    """Time ``runnable`` and check what it computes.

    Args:
        spec: the point.
        backend: its device.
        runnable: what to call.
        plan: limits of the timing.
        vary: whether to look for kept answers too, which takes up to six more calls.

    Returns:
        The worker's message: the timing, whether the outputs are numbers, and the check.
    """
    profiled = torch.autograd._profiler_enabled()  # type: ignore[attr-defined]
    timer_s = timer_cost_s(backend)
    watch = _Watch(backend)
    first = _Answer(runnable)
    before_bytes = resident_peak_bytes() or 0
    first_call_s = watch(first, 1)
    if spec.device == "cpu":
        grown_bytes = (resident_peak_bytes() or 0) - before_bytes
        keep_freed_memory(grown_bytes, memory_state().available_bytes)
    sound, before = first.is_sound(), first.signature()
    watch.host_shares.clear()
    retries = backend.retries()
    timing = time_process(
        runnable.run,
        plan,
        watch,
        runnable.reset if spec.mode == "train" else None,
        backend.make_cold if plan.cold_samples else None,
        timer_s,
        Core(plan.probe_quickest_s) if tells(spec.device, spec.threads) else None,
    )
    grown = (backend.retries() or 0) - (retries or 0)
    host_s = timing.median_s * fmean(watch.host_shares)
    last = _Answer(runnable)
    last()
    sound = sound and last.is_sound()
    check = ResultCheck(
        before, last.signature(), constant_inputs=are_constant(runnable.program.inputs)
    )
    if vary:
        calls = 1 if timing.median_s > _LONG_CALL_S else _VARIED_CALLS
        check = _look_for_kept_answers(check, runnable, watch, calls)
    return {
        "kind": "timing",
        "timing": asdict(replace(timing, first_call_s=first_call_s, host_s=host_s)),
        "sound": sound,
        "check": asdict(check),
        "profiled": profiled,
        "timer_s": timer_s,
        "retries": grown,
    }


def varied_signature(runnable: Runnable) -> Signature | None:
    """Run once with the inputs' first variation; what it gives, None if nothing can be varied.

    The inputs have their first values again afterwards.
    """
    variation = Variation(runnable.program.inputs)
    variation.apply(0)
    answer = _Answer(runnable)
    answer()
    signature = answer.signature()
    possible = variation.possible
    variation.restore()
    return signature if possible else None


def timer_cost_s(backend: Backend) -> float:
    """What timing a block costs besides its calls: the median of blocks of none."""
    trials = sorted(backend.time(_nothing, 0).device_s for _ in range(_TIMER_TRIALS))
    return trials[_TIMER_TRIALS // 2]


def _nothing() -> None:
    pass


def _look_for_kept_answers(
    check: ResultCheck, runnable: Runnable, watch: _Watch, calls: int
) -> ResultCheck:
    """Call with other values in the same tensors: what comes out, and how long it takes.

    Each has a call with the first values beside it, prepared alike, so that both meet the same
    caches and the same neighbours.
    """
    variation = Variation(runnable.program.inputs)
    if not variation.possible:
        return check
    varied: Signature | None = None
    varied_s, same_s = [], []
    for number in range(calls):
        variation.apply(number)
        answer = _Answer(runnable)
        varied_s.append(watch(answer, 1))
        signature = answer.signature()
        varied = varied or signature
        variation.restore()
        same = _Answer(runnable)
        same_s.append(watch(same, 1))
        same.signature()
    return replace(check, varied=varied, varied_s=tuple(varied_s), same_s=tuple(same_s))


class _Watch:
    """A stopwatch on the backend's clock that notes the host's share of each block."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.host_shares: list[float] = []

    def __call__(self, action: Action, calls: int) -> float:
        block = self._backend.time(action, calls)
        if block.device_s > 0:
            self.host_shares.append(block.host_s / block.device_s)
        return block.device_s


class _Answer:
    """One call from a fixed random state, and what it returned."""

    def __init__(self, runnable: Runnable) -> None:
        self._runnable = runnable
        self._outputs: tuple[torch.Tensor, ...] = ()
        runnable.reset()
        # Dropout and routing draw the same numbers each time an answer is taken.
        torch.manual_seed(_SEED)

    def __call__(self) -> None:
        self._outputs = tuple(tensors_of(self._runnable.run()))

    def is_sound(self) -> bool:
        return is_sound(self._outputs)

    def signature(self) -> Signature:
        """The outputs' signature; they are let go of."""
        signature = signature_of(self._outputs)
        self._outputs = ()
        self._runnable.reset()
        return signature
