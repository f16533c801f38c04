"""From timed cases to a record's tables, and how well these predict what was held out. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from costlab.calibration.pricing import class_of, predict_ops
from costlab.calibration.suite import BANDWIDTH, PASS, SHAPED, Case
from costlab.calibration.timings import TimedCase
from costlab.hardware.calibration_record import CalibrationRecord, Curve, Residual, ShapedRate
from costlab.hardware.machine import Machine
from costlab.measurement.statistics import median
from costlab.prediction.timing import Times, time_of

# A kernel's own work is taken to be at least this share of its time, however short it is.
_LEAST_WORK = 0.2
# Factors that a fit may take (a program does not make work shorter, and beyond three times it
# would make up for other errors), and how much it prefers those near 1.
_FACTORS = np.exp(np.linspace(0.0, math.log(3.0), 33))
_CAUTION = 0.25
_COLD_SHARES = tuple(step / 5 for step in range(6))
_WARMING_S = (3e-5, 1e-4, 2e-4, 5e-4, 2e-3, 1e3)


def tables(
    timed: Sequence[TimedCase], bare_s: float, bare_backward_s: float
) -> tuple[dict[str, tuple[ShapedRate, ...]], dict[str, Curve]]:
    """FLOP rates by shape and byte rates by size, from the cases that are not held out.

    Args:
        timed: timed cases.
        bare_s: cost of one call of an operator without work.
        bare_backward_s: cost of one backward call without work.
    """
    shaped: dict[str, list[ShapedRate]] = {}
    curves: dict[str, dict[float, float]] = {}
    for item in timed:
        case = item.case
        if case.held_out:
            continue
        work_s = _work_s(item, bare_s, bare_backward_s)
        if case.table == SHAPED:
            rate = sum(op.flop for op in item.ops) / work_s
            shaped.setdefault(case.name, []).append(ShapedRate(case.shape, rate))
        elif case.table == BANDWIDTH:
            size = max(op.bytes for op in item.ops)
            rate = sum(op.bytes for op in item.ops) / work_s
            curves.setdefault(case.name, {})[float(size)] = rate
    cap = max(curves.get("elementwise", {}).items(), default=None)
    return (
        {name: tuple(rates) for name, rates in shaped.items()},
        {name: _curve(points, cap) for name, points in curves.items()},
    )


def _curve(points: Mapping[float, float], cap: tuple[float, float] | None) -> Curve:
    """A curve; one that ends inside the caches goes on no faster than the largest addition."""
    ordered = sorted(points.items())
    last_size, last_rate = ordered[-1]
    if cap is not None and cap[0] > 2 * last_size:
        ordered.append((cap[0], min(last_rate, cap[1])))
    return Curve(tuple(ordered))


def _work_s(item: TimedCase, bare_s: float, bare_backward_s: float) -> float:
    backward = any(op.phase == "backward" for op in item.ops)
    extra = bare_s * (sum(op.launches for op in item.ops) - 1)
    overhead = extra + (bare_backward_s if backward else bare_s)
    return max(item.time_s - overhead, _LEAST_WORK * item.time_s)


def with_program_state(record: CalibrationRecord, timed: Sequence[TimedCase]) -> CalibrationRecord:
    """``record`` with the state of whole programs that predicts them best.

    Best is the least sum of absolute logarithms of measured over predicted time, which one
    disturbed program does not move.
    """
    passes = [item for item in timed if item.case.table == PASS]
    if not passes:
        return record
    measured = np.log([item.time_s for item in passes])
    programs = [class_of(item.ops, item.peak_bytes) for item in passes]
    best = (math.inf, record)
    for share in _COLD_SHARES:
        alone = replace(record, cold_share=share, program_factor=1.0)
        machine = Machine.from_calibration(alone)
        predicted = [
            time_of(program, {}, machine, item.mode)
            for program, item in zip(programs, passes, strict=True)
        ]
        for warming_s in _WARMING_S:
            fixed, added = np.transpose([_parts(times, warming_s) for times in predicted])
            total = fixed + (_FACTORS[:, None] - 1) * added
            error = np.abs(np.log(total) - measured).sum(axis=-1) + _CAUTION * np.log(_FACTORS)
            place = int(np.argmin(error))
            if error[place] < best[0]:
                factor = float(_FACTORS[place])
                candidate = replace(alone, warming_s=warming_s, program_factor=factor)
                best = (float(error[place]), candidate)
    return best[1]


def _parts(times: Times, warming_s: float) -> tuple[float, float]:
    """Seconds with a factor of 1, and what 1 more of it adds."""
    added = 0.0
    for part in times.groups:
        calls, work_s = float(part.calls), float(part.work_s)
        added += work_s / (1 + work_s / calls / warming_s)
    return float(times.total_s), added


def _predicted_s(item: TimedCase, record: CalibrationRecord) -> float:
    if item.case.table != PASS:
        # A kernel repeated alone knows no program around it.
        record = replace(record, cold_share=0.0, program_factor=1.0)
    return float(predict_ops(item.ops, record, item.mode, item.peak_bytes).total_s)


def with_residuals(record: CalibrationRecord, timed: Sequence[TimedCase]) -> CalibrationRecord:
    """``record`` with its errors on the held-out cases and the spread between rounds."""
    residuals = tuple(
        Residual(
            name=item.case.name,
            shape=label(item.case),
            predicted_s=_predicted_s(item, record),
            measured_s=item.time_s,
        )
        for item in timed
        if item.case.held_out
    )
    again = [item.spread for item in timed if len(item.times_s) > 1]
    spread = median(again) if again else 0.0
    return replace(record, residuals=residuals, spread=spread)


def label(case: Case) -> str:
    """A held-out case in words for people."""
    sizes = " x ".join(map(str, case.shape))
    return f"{case.kernel} {sizes}" if case.table == PASS else sizes


def errors_by_name(residuals: Sequence[Residual]) -> Mapping[str, float]:
    """Median absolute relative error by kind or operator, for a summary."""
    found: dict[str, list[float]] = {}
    for residual in residuals:
        found.setdefault(residual.name, []).append(abs(residual.relative_error))
    return {name: median(errors) for name, errors in found.items()}
