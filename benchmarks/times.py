"""Predicted against measured time of architectures at sizes fixed beforehand.

Run ``python -m benchmarks.times``: it calibrates (or takes the newest calibration of this machine
with ``--stored``), measures the points of ``time_points.toml``, predicts them, and prints errors by
architecture and mode. Beside them stand a plain roofline (best matmul rate and bandwidth beyond
the caches, nothing else) and how far two measurements of the same point are apart.
``--record FILE`` keeps the measurements, ``--replay FILE`` judges them again without measuring.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import machine, markdown_table, write_between
from benchmarks.time_points import (
    TimePoint,
    load_points,
    measure_points,
    read_record,
    write_record,
)
from costlab.calibration.api import calibrate, load_latest
from costlab.errors import InputError
from costlab.formulas import store
from costlab.formulas.evaluate import evaluate
from costlab.hardware.calibration_record import CalibrationRecord
from costlab.hardware.machine import Machine
from costlab.measurement.statistics import median, quantile
from costlab.prediction.timing import time_of

GOAL_MEDIAN, GOAL_P90, GOAL_INSIDE = 0.15, 0.35, 0.8
_HEADER = (
    "architecture", "mode", "times, ms", "median", "p90", "bias", "inside", "roofline", "noise",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """A measured point with its prediction, interval and plain roofline, in seconds."""

    point: TimePoint
    predicted_s: float
    low_s: float
    high_s: float
    roofline_s: float

    @property
    def error(self) -> float:
        """Predicted over measured, minus 1."""
        return self.predicted_s / self.point.measured_s - 1

    @property
    def roofline_error(self) -> float:
        return self.roofline_s / self.point.measured_s - 1

    @property
    def inside(self) -> bool:
        return self.low_s <= self.point.measured_s <= self.high_s

    @property
    def noise(self) -> float:
        """How far the second measurement is from the first."""
        first, second = self.point.counted_s[:2]
        return abs(second / first - 1)


def judge(point: TimePoint, record: CalibrationRecord) -> Judged:
    """Predict a measured point from a calibration."""
    derivation = store.load(point.architecture, point.mode, record.dtype)
    full = {**derivation.complete(point.sizes), "threads": record.threads}
    found = derivation.select(full)
    times = time_of(found, full, Machine.from_calibration(record), point.mode)
    flop, size = (
        sum(
            float(evaluate(group.calls, full)) * float(evaluate(getattr(group, quantity), full))
            for group in found.groups
        )
        for quantity in ("flop", "bytes")
    )
    bandwidth = record.bandwidth["copy"].points[-1][1]
    return Judged(
        point,
        float(times.total_s),
        float(times.low_s),
        float(times.high_s),
        max(flop / record.peak_flop_per_s, size / bandwidth),
    )


def rows(judged: Sequence[Judged]) -> list[list[str]]:
    """A row for each architecture and mode, then one for all."""
    groups: dict[tuple[str, str], list[Judged]] = {}
    for item in judged:
        groups.setdefault((item.point.architecture, item.point.mode), []).append(item)
    return [_row(*key, chosen) for key, chosen in groups.items()] + [_row("all", "", judged)]


def _row(architecture: str, mode: str, judged: Sequence[Judged]) -> list[str]:
    times_ms = [1e3 * item.point.measured_s for item in judged]
    errors = [abs(item.error) for item in judged]
    twice = [item.noise for item in judged if len(item.point.counted_s) > 1]
    return [
        architecture,
        mode,
        f"{min(times_ms):.2g} to {max(times_ms):.3g}",
        f"{median(errors):.0%}",
        f"{quantile(errors, 0.9):.0%}",
        f"{median([item.error for item in judged]):+.0%}",
        f"{sum(item.inside for item in judged)} of {len(judged)}",
        f"{median([abs(item.roofline_error) for item in judged]):.0%}",
        f"{median(twice):.1%}" if twice else "",
    ]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the goals are about: errors over all points, and the share inside their interval."""

    median: float
    p90: float
    inside: float

    @classmethod
    def of(cls, judged: Sequence[Judged]) -> Summary:
        errors = [abs(item.error) for item in judged]
        inside = sum(item.inside for item in judged) / len(judged)
        return cls(median(errors), quantile(errors, 0.9), inside)

    @property
    def met(self) -> bool:
        return self.median <= GOAL_MEDIAN and self.p90 <= GOAL_P90 and self.inside >= GOAL_INSIDE


def report(judged: Sequence[Judged], record: CalibrationRecord) -> str:
    """The table in Markdown, the goals beside what came out, and the machine."""
    summary = Summary.of(judged)
    roofline = [abs(item.roofline_error) for item in judged]
    lines = [
        markdown_table(_HEADER, rows(judged)),
        "",
        f"{len(judged)} points, {record.dtype}, {record.threads} thread. Median error"
        f" {summary.median:.1%} (goal {GOAL_MEDIAN:.0%}), 90th percentile"
        f" {summary.p90:.1%} (goal {GOAL_P90:.0%}), {summary.inside:.0%} inside their interval"
        f" (goal {GOAL_INSIDE:.0%}). A plain roofline: median {median(roofline):.0%}.",
        *_apart(judged),
        "",
        f"{machine()}; calibration of level {record.level} in {record.duration_s:.0f} s.",
    ]
    return "\n".join(lines)


def _apart(judged: Sequence[Judged]) -> list[str]:
    """What came out at points with a core of their own, where others had none."""
    alone = [item for item in judged if item.point.passes_s]
    if not alone or len(alone) == len(judged):
        return []
    found = Summary.of(alone)
    bias = median([item.error for item in alone])
    return [
        "",
        f"{len(judged) - len(alone)} points never had a core to themselves. At the {len(alone)}"
        f" others: median {found.median:.1%}, 90th percentile {found.p90:.1%}, bias {bias:+.0%},"
        f" {found.inside:.0%} inside.",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Calibrate, measure, predict and print; exit status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.times", description=__doc__)
    parser.add_argument("architectures", nargs="*", help="default: all")
    parser.add_argument("--modes", default="forward,train,decode")
    parser.add_argument("--passes", type=int, default=3, help="measurements of each (default 3)")
    parser.add_argument("--level", default="full", help="of the calibration (default full)")
    parser.add_argument("--stored", action="store_true", help="take the newest calibration")
    parser.add_argument("--record", type=Path, help="keep the measured points in this file")
    parser.add_argument("--replay", type=Path, help="judge the points of this file")
    parser.add_argument("--worst", type=int, default=0, help="also list this many worst points")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    args = parser.parse_args(arguments)
    record = load_latest() if args.stored else calibrate(level=args.level, progress=_show)
    if record is None:
        raise InputError("no calibration of this machine", advice="leave --stored out")
    points = [
        point
        for point in (read_record(args.replay) if args.replay else load_points())
        if point.mode in args.modes.split(",")
        and (not args.architectures or point.architecture in args.architectures)
    ]
    if not args.replay:
        points = measure_points(points, args.passes, lambda text: _show(text, 1.0))
    if args.record:
        write_record(points, args.record)
    judged = [judge(point, record) for point in points]
    text = report(judged, record)
    print("\n" + text)
    for item in sorted(judged, key=lambda item: -abs(item.error))[: args.worst]:
        print(f"{item.point}: {1e3 * item.point.measured_s:.2f} ms, predicted {item.error:+.0%}")
    if args.write:
        write_between("times", text)
    return int(not Summary.of(judged).met)


def _show(text: str, share: float) -> None:
    del share
    if sys.stderr.isatty():
        print(f"\r{time.strftime('%H:%M:%S')} {text[:100]:<100}", end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
