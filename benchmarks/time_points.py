"""Points of the time benchmark: fixed sizes, and their times through ``costlab.measure``'s passes.

The sizes stand in ``time_points.toml``; no calibration uses them or the architectures.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from costlab.measurement.api import open_workers
from costlab.measurement.known_quickest import known_quickest_s
from costlab.measurement.point import PointSpec, timing_from
from costlab.measurement.process import Workers
from costlab.measurement.shared_core import was_alone
from costlab.measurement.statistics import median
from costlab.measurement.timing import TimingPlan

FILE = Path(__file__).with_suffix(".toml")
SCHEMA = "costlab.times/1"
_TIMEOUT_S = 120.0
MORE_PASSES = 3
_TWICE = 2
# About 1 s per process: a pass over all points takes three minutes.
PLAN = TimingPlan(
    warmup_s=0.25, min_samples=5, max_samples=200, min_time_s=0.08, max_time_s=0.5, patience_s=0.4
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimePoint:
    """One program at one size, and its measured times, one per pass over the points.

    A time is the median within one fresh process, in seconds: in ``passes_s`` of processes that
    had their core to themselves, in ``shared_s`` of the others.
    """

    architecture: str
    mode: str
    sizes: Mapping[str, int]
    passes_s: tuple[float, ...] = ()
    shared_s: tuple[float, ...] = ()

    @property
    def counted_s(self) -> tuple[float, ...]:
        """The times that count: those alone, if there are any."""
        return self.passes_s or self.shared_s

    @property
    def measured_s(self) -> float:
        """Median of the times that count."""
        return median(self.counted_s)

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={value}" for name, value in self.sizes.items())
        return f"{self.architecture} {self.mode} {sizes}"


def load_points(path: Path = FILE) -> list[TimePoint]:
    """The points of a TOML file of ``[architecture]`` tables, each with lists of sizes by mode."""
    with path.open("rb") as file:
        data = tomllib.load(file)
    return [
        TimePoint(architecture, mode, sizes)
        for architecture, modes in data.items()
        for mode, points in modes.items()
        for sizes in points
    ]


def timed_architectures() -> list[str]:
    """The architectures whose times are predicted and measured."""
    return list(dict.fromkeys(point.architecture for point in load_points()))


def measure_points(
    points: Sequence[TimePoint], passes: int, show: Callable[[str], None]
) -> list[TimePoint]:
    """``points`` with their times: ``passes`` passes over all of them, every second backwards.

    Points of which fewer than two processes had their core to themselves are visited in up to
    ``MORE_PASSES`` further passes.

    Raises:
        RuntimeError: if a point does not end with a time.
    """
    found = list(points)
    with open_workers() as workers:
        for turn in range(passes + MORE_PASSES):
            open_ = [
                index
                for index, point in enumerate(found)
                if turn < passes or len(point.passes_s) < min(_TWICE, passes)
            ]
            for done, index in enumerate(open_ if turn % 2 == 0 else reversed(open_)):
                found[index] = _timed(found[index], workers)
                show(f"pass {turn + 1}, {done + 1} of {len(open_)}: {points[index]}")
    return found


def _timed(point: TimePoint, workers: Workers) -> TimePoint:
    """One time more, of one fresh process, the same that ``costlab.measure`` runs."""
    spec = PointSpec(point.architecture, point.sizes, mode=point.mode)
    plan = asdict(replace(PLAN, probe_quickest_s=known_quickest_s()))
    outcome = workers.run({"pass": "timing", "spec": spec.to_json(), "plan": plan}, _TIMEOUT_S)
    if outcome.status != "ok":
        raise RuntimeError(f"{point}: {outcome.status}, {outcome.reason}")
    timing = timing_from(outcome.message["timing"])
    known_quickest_s(timing.probe_quickest_s)  # kept for the next one
    if was_alone(timing):
        return replace(point, passes_s=(*point.passes_s, timing.median_s))
    return replace(point, shared_s=(*point.shared_s, timing.median_s))


def write_record(points: Iterable[TimePoint], path: Path) -> None:
    """Keep measured points, so that a model can be judged again without measuring."""
    rows = [
        {"architecture": p.architecture, "mode": p.mode, "sizes": dict(p.sizes),
         "passes_s": list(p.passes_s), "shared_s": list(p.shared_s)}
        for p in points
    ]  # fmt: skip
    data = {"schema": SCHEMA, "points": rows}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def read_record(path: Path) -> list[TimePoint]:
    """Inverse of :func:`write_record`.

    Raises:
        ValueError: if the file is of another kind.
    """
    data: Any = json.loads(path.read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise ValueError(f"{path} holds no measured points")
    lists = ("passes_s", "shared_s")
    return [
        TimePoint(**{**row, **{name: tuple(row.get(name, ())) for name in lists}})
        for row in data["points"]
    ]
