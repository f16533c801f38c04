"""Times the kernels of ``widths.SWEEPS`` at each of their widths. Needs torch."""

from __future__ import annotations

import math

import torch

from costlab.calibration.kernels import Kernel, build
from costlab.calibration.widths import SWEEPS, WidthSweep
from costlab.measurement.shared_core import Core
from costlab.measurement.timing import Stopwatch

_BLOCK_S = 5e-4
_MOST_CALLS = 200


def width_times(
    dtype: str, stopwatch: Stopwatch, repeats: int, core: Core | None = None
) -> list[list[float]]:
    """Seconds of one call by sweep and width: the least of ``repeats``, far apart in time.

    Each begins on a ``core`` that nobody else uses, if there is one.
    """
    times_s = [_sweep(sweep, dtype, stopwatch, repeats, core) for sweep in SWEEPS]
    if core is not None:
        core.leave()
    return times_s


def _sweep(
    sweep: WidthSweep, dtype: str, stopwatch: Stopwatch, repeats: int, core: Core | None
) -> list[float]:
    kernels = [build(sweep.kernel, sweep.at(width), dtype, "cpu") for width in sweep.widths()]
    best = [math.inf] * len(kernels)
    with torch.set_grad_enabled(kernels[0].grad):
        calls = [_calls(kernel, stopwatch) for kernel in kernels]
        for _ in range(repeats):
            for index, (kernel, count) in enumerate(zip(kernels, calls, strict=True)):
                if core is not None:
                    core.seek(core.probe())
                best[index] = min(best[index], stopwatch(kernel.action, count) / count)
    return best


def _calls(kernel: Kernel, stopwatch: Stopwatch) -> int:
    kernel.action()
    once_s = max(stopwatch(kernel.action, 2) / 2, 1e-9)
    return min(math.ceil(_BLOCK_S / once_s), _MOST_CALLS)
