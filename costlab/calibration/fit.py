"""From timed cases to a record's tables, and how well these predict what was held out. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from costlab.calibration.pricing import PricedOp, predict_ops
from costlab.calibration.suite import BANDWIDTH, PASS, SHAPED, Case
from costlab.hardware.calibration_record import CalibrationRecord, Curve, Residual, ShapedRate
from costlab.measurement.statistics import median

# A kernel's own work is taken to be at least this share of its time, however short it is.
_LEAST_WORK = 0.2


@dataclass(frozen=True, slots=True)
class TimedCase:
    """A case with its operators and its times in seconds, one per round."""

    case: Case
    ops: tuple[PricedOp, ...]
    times_s: tuple[float, ...]

    @property
    def time_s(self) -> float:
        """The quickest round: what others on the machine add is not the device's rate."""
        return min(self.times_s)

    @property
    def spread(self) -> float:
        """How far the slowest round was above the quickest."""
        return max(self.times_s) / self.time_s - 1

    @property
    def mode(self) -> str:
        return "train" if any(op.phase == "backward" for op in self.ops) else "forward"


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


def with_residuals(record: CalibrationRecord, timed: Sequence[TimedCase]) -> CalibrationRecord:
    """``record`` with its errors on the held-out cases and the spread between rounds."""
    residuals = tuple(
        Residual(
            name=item.case.name,
            shape=label(item.case),
            predicted_s=predict_ops(item.ops, record, item.mode),
            measured_s=item.time_s,
        )
        for item in timed
        if item.case.held_out
    )
    spread = median([item.spread for item in timed]) if timed else 0.0
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
