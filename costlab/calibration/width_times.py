"""Times the kernels of the sweeps of ``widths`` at each of their widths. Needs torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from costlab.calibration.kernels import Kernel, build
from costlab.calibration.widths import ResultSweep, WidthSweep
from costlab.measurement.shared_core import Core
from costlab.measurement.timing import Stopwatch

_BLOCK_S = 5e-4
_MOST_CALLS = 200

Sweep = WidthSweep | ResultSweep


def width_times(
    sweeps: Sequence[Sweep],
    dtype: str,
    stopwatch: Stopwatch,
    repeats: int,
    core: Core | None = None,
    of: Callable[[Sequence[float]], float] = min,
) -> list[list[float]]:
    """Seconds of one call by sweep and width: the least of ``repeats``, far apart in time.

    Each begins on a ``core`` that nobody else uses, if there is one. ``of`` is what is taken of
    the repeats.
    """
    times_s = [
        [of(same) for same in _sweep(sweep, dtype, stopwatch, repeats, core)] for sweep in sweeps
    ]
    if core is not None:
        core.leave()
    return times_s


def _sweep(
    sweep: Sweep, dtype: str, stopwatch: Stopwatch, repeats: int, core: Core | None
) -> list[list[float]]:
    kernels = [build(sweep.kernel, sweep.at(width), dtype, "cpu") for width in sweep.widths()]
    times_s: list[list[float]] = [[] for _ in kernels]
    with torch.set_grad_enabled(kernels[0].grad):
        calls = [_calls(kernel, stopwatch) for kernel in kernels]
        for _ in range(repeats):
            for own_s, kernel, count in zip(times_s, kernels, calls, strict=True):
                if core is not None:
                    core.seek(core.probe())
                own_s.append(stopwatch(kernel.action, count) / count)
    return times_s


def _calls(kernel: Kernel, stopwatch: Stopwatch) -> int:
    kernel.action()
    once_s = max(stopwatch(kernel.action, 2) / 2, 1e-9)
    return min(math.ceil(_BLOCK_S / once_s), _MOST_CALLS)
