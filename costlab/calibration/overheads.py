"""What a call costs besides its work: timings of programs so small that little else is left."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from costlab.calibration.pricing import PricedOp, price_records
from costlab.calibration.programs import PROGRAMS, SmallProgram
from costlab.calibration.timings import Overheads, TinyProgram
from costlab.measurement.shared_core import Core, was_alone
from costlab.measurement.timing import Stopwatch, TimingPlan, time_process
from costlab.trace.tracker import Tracker

# Program, style of its launches (see ``calibration_record.STYLES``), and shape.
_PROGRAMS = (
    ("block", "", (1, 4, 8, 2)), ("scores", "", (1, 4, 8, 2)), ("gated", "", (1, 4, 8, 2)),
    ("cell_loop", "loop_", (1, 24, 8, 1)), ("gru_cell_loop", "loop_", (1, 24, 8, 1)),
    ("linear_loop", "loop_", (1, 24, 8, 1)),
    ("gru", "fused_", (1, 24, 8, 1)),
    ("rnn", "fused_", (1, 24, 8, 1)),
)  # fmt: skip
_CHAIN = 64
# What launches take longer where somebody else is on the core: calls of a small cell in a loop
# took 1.76 to 1.9 times as long.
_SHARED = 1.8


def measure_overheads(
    device: torch.device,
    dtype: torch.dtype,
    stopwatch: Stopwatch,
    window_s: float,
    core: Core | None = None,
) -> Overheads:
    """Measure all of them on ``device``; takes about two dozen windows.

    Where ``core`` is shared with somebody, a timing waits a window longer to have it to itself.
    """
    plan = TimingPlan(
        warmup_s=window_s,
        min_samples=5,
        min_time_s=window_s,
        max_time_s=4 * window_s,
        patience_s=window_s,
    )

    def time_of(action: Callable[[], object], between: Callable[[], None] | None = None) -> float:
        timing = time_process(action, plan, stopwatch, between, core=core)
        alone = core is None or was_alone(timing)
        return timing.median_s if alone else timing.median_s / _SHARED

    programs: list[TinyProgram] = []
    for name, style, shape in _PROGRAMS:
        programs += _program(name, style, shape, device, dtype, time_of)
    x = torch.ones(4, device=device, dtype=dtype)
    gradient_of = torch.ones(4, device=device, dtype=dtype, requires_grad=True)
    output, upstream = torch.exp(gradient_of), torch.ones_like(x)
    with torch.no_grad():
        bare_s = time_of(lambda: x + x)
        step_s = 0.0
        # On a CPU a call returns when it is done: the next never waits.
        if device.type != "cpu":
            alone_s, chained_s = time_of(lambda: _alone(x)), time_of(lambda: _chained(x))
            step_s = max(chained_s - alone_s, 0.0) / _CHAIN
    return Overheads(
        programs=tuple(programs),
        step_s=step_s,
        bare_s=bare_s,
        bare_backward_s=time_of(
            lambda: torch.autograd.grad(output, gradient_of, upstream, retain_graph=True)
        ),
    )


def _program(
    name: str,
    style: str,
    shape: tuple[int, ...],
    device: torch.device,
    dtype: torch.dtype,
    time_of: Callable[..., float],
) -> list[TinyProgram]:
    passes = shape[1] if style == "loop_" else 0
    plain = PROGRAMS[f"{name}_pass"](shape, dtype, device)
    with torch.no_grad():
        ops = _priced(plain)["forward"]
        found = [TinyProgram(style, "forward", ops, time_of(plain.run), passes)]
    training = PROGRAMS[f"{name}_train_pass"](shape, dtype, device)
    priced = _priced(training)
    outputs: list[Tensor] = []

    def prepare() -> None:
        training.reset()
        outputs[:] = [training.module(training.x)]

    recorded_s = time_of(lambda: training.module(training.x))
    found.append(TinyProgram(style, "train_forward", priced["forward"], recorded_s, passes))
    backward_s = time_of(lambda: torch.autograd.backward(outputs.pop(), training.upstream), prepare)
    return [*found, TinyProgram(style, "backward", priced["backward"], backward_s, passes)]


def _priced(program: SmallProgram) -> dict[str, tuple[PricedOp, ...]]:
    """The operators of one pass by phase."""
    tracker = Tracker()
    for phase, action in program.stages():
        tracker.phase = phase
        with tracker:
            action()
    tracker.close()
    program.reset()
    ops = price_records(tracker.ops, program.x.device.type)
    return {
        phase: tuple(op for op in ops if op.phase == phase) for phase in ("forward", "backward")
    }


def _alone(x: Tensor) -> None:
    for _ in range(_CHAIN):
        x * 1.0


def _chained(x: Tensor) -> None:
    for _ in range(_CHAIN):
        x = x * 1.0
