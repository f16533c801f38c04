"""What a call costs besides its work: measured on programs so small that nothing else is left."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from costlab.calibration.programs import PROGRAMS, SmallProgram
from costlab.derivation.totals import concrete_call, price
from costlab.measurement.timing import Stopwatch, TimingPlan, time_process
from costlab.trace.tracker import Tracker

_TINY = (1, 4, 8, 2)
_PROGRAMS = ("block", "scores", "cell_loop")
_CHAIN = 64


@dataclass(frozen=True, slots=True)
class Overheads:
    """Seconds per call.

    ``launch_s`` by phase is the mean over small modules, Python and module calls included, as a
    real pass has them. ``bare_s`` is one operator called alone, ``bare_backward_s`` one start of
    the autograd engine; both are taken off timings of single kernels. ``step_s`` is what a call
    costs more when it waits for the one before.
    """

    launch_s: dict[str, float]
    step_s: float
    bare_s: float
    bare_backward_s: float


def measure_overheads(
    device: torch.device, dtype: torch.dtype, stopwatch: Stopwatch, window_s: float
) -> Overheads:
    """Measure all of them on ``device``; takes about a dozen windows."""
    plan = TimingPlan(
        warmup_s=window_s, min_samples=5, min_time_s=2 * window_s, max_time_s=8 * window_s
    )

    def time_of(action: Callable[[], object], between: Callable[[], None] | None = None) -> float:
        return min(time_process(action, plan, stopwatch, between).median_s for _ in range(2))

    logs: dict[str, list[float]] = {"forward": [], "train_forward": [], "backward": []}
    for name in _PROGRAMS:
        with torch.no_grad():
            plain = PROGRAMS[f"{name}_pass"](_TINY, dtype, device)
            forward_s = time_of(plain.run) / _launches(plain)["forward"]
        training = PROGRAMS[f"{name}_train_pass"](_TINY, dtype, device)
        launches = _launches(training)
        recorded_s = time_of(lambda training=training: training.module(training.x))  # type: ignore[misc]
        whole_s = time_of(training.run, training.reset)
        logs["forward"].append(math.log(forward_s))
        logs["train_forward"].append(math.log(recorded_s / launches["forward"]))
        # The difference of two noisy times may vanish; a recorded call is the least it can cost.
        backward_s = max(whole_s - recorded_s, recorded_s / 4) / launches["backward"]
        logs["backward"].append(math.log(backward_s))
    x = torch.ones(4, device=device, dtype=dtype)
    gradient_of = torch.ones(4, device=device, dtype=dtype, requires_grad=True)
    output, upstream = torch.exp(gradient_of), torch.ones_like(x)
    with torch.no_grad():
        bare_s = time_of(lambda: x + x)
        alone_s, chained_s = time_of(lambda: _alone(x)), time_of(lambda: _chained(x))
    return Overheads(
        launch_s={phase: math.exp(sum(values) / len(values)) for phase, values in logs.items()},
        step_s=max(chained_s - alone_s, 0.0) / _CHAIN,
        bare_s=bare_s,
        bare_backward_s=time_of(
            lambda: torch.autograd.grad(output, gradient_of, upstream, retain_graph=True)
        ),
    )


def _launches(program: SmallProgram) -> dict[str, int]:
    """Launches by phase, as the rules count them."""
    tracker = Tracker()
    for phase, action in program.stages():
        tracker.phase = phase
        with tracker:
            action()
    program.reset()
    counts = {"forward": 0, "backward": 0}
    for record in tracker.ops:
        cost = price(concrete_call(record, program.x.device.type)).cost
        counts[record.phase] += 1 if cost is None else int(cost.launches)  # type: ignore[arg-type]
    return counts


def _alone(x: Tensor) -> None:
    for _ in range(_CHAIN):
        x * 1.0


def _chained(x: Tensor) -> None:
    for _ in range(_CHAIN):
        x = x * 1.0
