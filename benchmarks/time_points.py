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
from costlab.measurement.point import PointSpec, timing_from
from costlab.measurement.process import Workers
from costlab.measurement.shared_core import survey_s, was_alone
from costlab.measurement.statistics import median
from costlab.measurement.timing import TimingPlan

FILE = Path(__file__).with_suffix(".toml")
SCHEMA = "costlab.times/1"
_TIMEOUT_S = 120.0
_TRIES = 3
# About 0.6 s per process: a pass over all points takes two minutes.
PLAN = TimingPlan(
    warmup_s=0.25, min_samples=5, max_samples=200, min_time_s=0.08, max_time_s=0.5
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimePoint:
    """One program at one size; ``passes_s`` are its measured times, one per pass over all points.

    A time is the median within one fresh process, in seconds.
    """

    architecture: str
    mode: str
    sizes: Mapping[str, int]
    passes_s: tuple[float, ...] = ()

    @property
    def measured_s(self) -> float:
        """Median over the passes."""
        return median(self.passes_s)

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


def measure_points(
    points: Sequence[TimePoint], passes: int, show: Callable[[str], None]
) -> list[TimePoint]:
    """``points`` with their times: ``passes`` passes over all of them, every second backwards.

    Raises:
        RuntimeError: if a point does not end with a time.
    """
    times: dict[int, list[float]] = {index: [] for index in range(len(points))}
    with open_workers() as workers:
        for turn in range(passes):
            order = list(enumerate(points))
            for done, (index, point) in enumerate(order if turn % 2 == 0 else reversed(order)):
                times[index].append(_time(point, workers))
                show(f"pass {turn + 1}, {done + 1} of {len(points)}: {point}")
    return [
        TimePoint(point.architecture, point.mode, point.sizes, tuple(times[index]))
        for index, point in enumerate(points)
    ]


def _time(point: TimePoint, workers: Workers) -> float:
    """The median within one fresh process, the same that ``costlab.measure`` runs.

    A process that never had its core to itself is followed by another, twice at most.
    """
    spec = PointSpec(point.architecture, point.sizes, mode=point.mode)
    plan = asdict(replace(PLAN, probe_quickest_s=survey_s()))
    for _ in range(_TRIES):
        outcome = workers.run({"pass": "timing", "spec": spec.to_json(), "plan": plan}, _TIMEOUT_S)
        if outcome.status != "ok":
            raise RuntimeError(f"{point}: {outcome.status}, {outcome.reason}")
        timing = timing_from(outcome.message["timing"])
        if was_alone(timing):
            break
    return timing.median_s


def write_record(points: Iterable[TimePoint], path: Path) -> None:
    """Keep measured points, so that a model can be judged again without measuring."""
    rows = [
        {"architecture": p.architecture, "mode": p.mode, "sizes": dict(p.sizes),
         "passes_s": list(p.passes_s)}
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
    return [TimePoint(**{**row, "passes_s": tuple(row["passes_s"])}) for row in data["points"]]
