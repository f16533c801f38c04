"""Times the kernels of the sweeps of ``widths`` at each of their widths. Needs torch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from costlab.calibration.kernels import Kernel, build
from costlab.calibration.visits import Visit
from costlab.calibration.widths import ResultSweep, WidthSweep
from costlab.measurement.shared_core import Core
from costlab.measurement.timing import Stopwatch

_BLOCK_S = 5e-4
_MOST_CALLS = 200
# Rounds per wanted one, for widths whose core was shared.
_PATIENCE = 3

Sweep = WidthSweep | ResultSweep


def width_times(
    sweeps: Sequence[Sweep],
    dtype: str,
    stopwatch: Stopwatch,
    repeats: int,
    core: Core | None = None,
) -> list[list[list[Visit]]]:
    """One call by sweep and width, ``repeats`` times far apart, on a ``core`` of its own if it can.

    Widths whose core was shared are timed again, up to twice as often.
    """
    visits = [_sweep(sweep, dtype, stopwatch, repeats, core) for sweep in sweeps]
    if core is not None:
        core.leave()
    return visits


def _sweep(
    sweep: Sweep, dtype: str, stopwatch: Stopwatch, repeats: int, core: Core | None
) -> list[list[Visit]]:
    kernels = [build(sweep.kernel, sweep.at(width), dtype, "cpu") for width in sweep.widths()]
    visits: list[list[Visit]] = [[] for _ in kernels]
    with torch.set_grad_enabled(kernels[0].grad):
        calls = [_calls(kernel, stopwatch) for kernel in kernels]
        for turn in range(_PATIENCE * repeats):
            for seen, kernel, count in zip(visits, kernels, calls, strict=True):
                if turn < repeats or sum(one.alone for one in seen) < repeats:
                    seen.append(_visit(kernel, count, stopwatch, core))
    return visits


def _visit(kernel: Kernel, count: int, stopwatch: Stopwatch, core: Core | None) -> Visit:
    if core is None:
        return Visit(stopwatch(kernel.action, count) / count, True)
    before_s = core.probe()
    if core.seek(before_s):
        before_s = core.probe()
    time_s = stopwatch(kernel.action, count) / count
    return Visit(time_s, core.is_alone(max(before_s, core.probe())))


def _calls(kernel: Kernel, stopwatch: Stopwatch) -> int:
    kernel.action()
    once_s = max(stopwatch(kernel.action, 2) / 2, 1e-9)
    return min(math.ceil(_BLOCK_S / once_s), _MOST_CALLS)
