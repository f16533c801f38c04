"""From timed tiny programs to what a call costs besides its work. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from costlab.calibration.pricing import predict_ops
from costlab.calibration.timings import TinyProgram
from costlab.hardware.calibration_record import PHASES, CalibrationRecord
from costlab.prediction.timing import BIAS_COPY

# Launches are taken to cost at least this share of a tiny program.
_LEAST_LAUNCH = 0.2


@dataclass(frozen=True, slots=True)
class _Counts:
    """What a tiny program does, and its seconds beyond the work of its calls."""

    launches: int
    products: int
    passes: int
    rest_s: float
    time_s: float


def launch_costs(programs: Sequence[TinyProgram], record: CalibrationRecord) -> dict[str, float]:
    """Cost per launch by style and phase, per product with a bias, and per pass of a loop.

    Recurrent layers in C++ tell launches from products, since some have more calls beside each
    product; loops in Python then tell launches from passes.

    Args:
        programs: timed tiny programs.
        record: rates, without launch costs.
    """
    counts: dict[tuple[str, str], list[_Counts]] = {}
    for program in programs:
        counts.setdefault((program.style, program.phase), []).append(_counted(program, record))
    found: dict[str, float] = {}
    for phase in PHASES:
        fused = counts.get(("fused_", phase), [])
        loops, single = counts.get(("loop_", phase), []), counts.get(("", phase), [])
        product_s = 0.0
        if fused:
            found[f"fused_{phase}"], product_s = _fit(fused, [count.products for count in fused], 0)
            found[f"product_{phase}"] = product_s
        if loops:
            found[f"loop_{phase}"], found[f"pass_{phase}"] = _fit(
                loops, [count.passes for count in loops], product_s
            )
        if single:
            found[phase] = float(np.exp(np.mean(np.log([_each(c, product_s) for c in single]))))
    return found


def _counted(program: TinyProgram, record: CalibrationRecord) -> _Counts:
    launches = sum(op.launches for op in program.ops)
    work_s = float(predict_ops(program.ops, record, "forward").work_s)
    return _Counts(
        launches=launches,
        products=sum(op.op == BIAS_COPY for op in program.ops),
        passes=program.passes,
        rest_s=program.time_s - work_s - launches * record.step_s,
        time_s=program.time_s,
    )


def _each(count: _Counts, product_s: float) -> float:
    """Seconds per launch of a program alone."""
    rest_s = count.rest_s - count.products * product_s
    return max(rest_s, _LEAST_LAUNCH * count.time_s) / count.launches


def _fit(counts: Sequence[_Counts], others: Sequence[int], product_s: float) -> tuple[float, float]:
    """Seconds per launch, and per one of ``others``, with the least relative squares.

    ``others`` are products themselves where ``product_s`` is 0. Neither is negative: without
    ``others`` where they would be, or else with launches of the least share.
    """
    rest = np.array([count.rest_s - count.products * product_s for count in counts])
    table = np.array([[c.launches, other] for c, other in zip(counts, others, strict=True)], float)
    scale = np.array([count.time_s for count in counts])
    least = float(np.min(_LEAST_LAUNCH * scale / table[:, 0]))
    launch_s, other_s = _squares(table, rest, scale)
    if other_s < 0 or not any(others):
        return max(float(_squares(table[:, :1], rest, scale)[0]), least), 0.0
    if launch_s < least:
        launch_s = least
        fixed = rest - launch_s * table[:, 0]
        other_s = max(float(_squares(table[:, 1:], fixed, scale)[0]), 0.0)
    return float(launch_s), float(other_s)


def _squares(
    table: NDArray[np.float64], rest: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.asarray(np.linalg.lstsq(table / scale[:, None], rest / scale, rcond=None)[0], float)
