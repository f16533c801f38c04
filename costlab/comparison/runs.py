"""One measured run against another: which points got faster or slower."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from costlab.comparison.difference import (
    CANNOT_TELL,
    FALSE_ALARMS,
    FASTER,
    SAME,
    SLOWER,
    Difference,
    verdict,
)
from costlab.comparison.statistics import fit_slope
from costlab.measurement.point import PointResult
from costlab.measurement.statistics import median

SCHEMA = "costlab.compare-runs/1"
VERDICTS = (FASTER, SLOWER, SAME, CANNOT_TELL)
_ENOUGH_NEIGHBOURS = 4
_ORDER_LEVEL = 0.8  # a drift this likely is allowed for
_NORMAL_QUARTILE = 0.6745
_NORMAL_99 = 2.3263
Data = Mapping[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RunPoint:
    """One point in both runs; ``difference`` is None where one of them has no time."""

    architecture: str
    mode: str
    dtype: str
    sizes: Mapping[str, int]
    run: Data
    against: Data
    difference: Difference | None
    peak_ratio: float | None

    def to_json(self) -> dict[str, Any]:
        found = self.difference
        return {
            "architecture": self.architecture,
            "mode": self.mode,
            "dtype": self.dtype,
            "sizes": dict(self.sizes),
            "run": dict(self.run),
            "against": dict(self.against),
            "verdict": CANNOT_TELL if found is None else found.verdict,
            "reason": "not measured in both" if found is None else found.reason,
            "ratio": {
                "time": None if found is None else found.ratio,
                "peak_bytes": self.peak_ratio,
            },
            "interval": None if found is None else list(found.interval),
            "p_value": None if found is None else found.p_value,
            "allowance": None if found is None else found.allowance,
        }


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A run against another; ratios are run over against, so above 1 the run is slower.

    Attributes:
        drift: scatter of the logarithm of neighbouring ratios beyond what the processes explain,
            put down to the machine; None where there are too few points to tell.
        only_run, only_against: points that the other does not have.
        environments: whether both ran in the same environment (None: not recorded).
    """

    run: str
    against: str
    points: tuple[RunPoint, ...]
    drift: float | None
    only_run: tuple[str, ...]
    only_against: tuple[str, ...]
    same_environment: bool | None

    def counts(self) -> dict[str, int]:
        """Points per verdict."""
        found = Counter(
            CANNOT_TELL if point.difference is None else point.difference.verdict
            for point in self.points
        )
        return {name: found[name] for name in VERDICTS}

    def middle_ratio(self) -> float | None:
        """Median of the ratios of time."""
        ratios = [point.difference.ratio for point in self.points if point.difference]
        return median(ratios) if ratios else None

    def to_json(self) -> dict[str, Any]:
        """Schema ``costlab.compare-runs/1``."""
        return {
            "schema": SCHEMA,
            "run": self.run,
            "against": self.against,
            "ratios": "run / against",
            "points": [point.to_json() for point in self.points],
            "summary": {
                "count": len(self.points),
                "verdicts": self.counts(),
                "median_ratio": self.middle_ratio(),
                "drift": self.drift,
                "false_alarms": FALSE_ALARMS,
                "same_environment": self.same_environment,
            },
            "only_run": list(self.only_run),
            "only_against": list(self.only_against),
        }


def compare_runs(
    points: Iterable[Data | PointResult],
    against: Iterable[Data | PointResult],
    run: str = "",
    against_run: str = "",
) -> RunComparison:
    """Compare the points of one run with the same points of another.

    The points are judged together: where neighbouring sizes scatter by more than their processes
    explain, or times follow the order of measurement, that is the machine's and no verdict may
    rest on it; and among many points a small chance happens somewhere, so the smallest p-values
    must be the smaller the fewer there are of them (Benjamini and Hochberg 1995, at
    ``FALSE_ALARMS``).

    Args:
        points: results of one run, records or objects, in the order measured.
        against: results of the other, the baseline.
        run: name of the run.
        against_run: name of the other.
    """
    mine, theirs = _by_key(points), _by_key(against)
    shared = [key for key in mine if key in theirs]
    joined = [_join(mine[key], theirs[key], 0.0) for key in shared]
    drift = _excess(joined)
    moves = _moves(shared, mine, theirs)
    over_a_run = _order_drift(joined, moves)
    joined = [
        _join(mine[key], theirs[key], max(2 * (drift or 0.0), over_a_run * (1 + abs(move))))
        for key, move in zip(shared, moves, strict=True)
    ]
    environments = {
        (mine[key].get("environment"), theirs[key].get("environment")) for key in shared
    }
    known = bool(environments) and all(None not in pair for pair in environments)
    return RunComparison(
        run=run,
        against=against_run,
        points=tuple(_corrected(joined)),
        drift=drift,
        only_run=tuple(_label(mine[key]) for key in mine if key not in theirs),
        only_against=tuple(_label(theirs[key]) for key in theirs if key not in mine),
        same_environment=all(a == b for a, b in environments) if known else None,
    )


def _by_key(points: Iterable[Data | PointResult]) -> dict[Key, Data]:
    found: dict[Key, Data] = {}
    for point in points:
        data = point.to_json() if isinstance(point, PointResult) else point
        names = ("architecture", "mode", "dtype", "device", "threads")
        sizes = tuple(sorted(data["sizes"].items()))
        options = tuple(sorted(dict(data.get("options") or {}).items()))
        found[(*(data.get(name) for name in names), sizes, options)] = data
    return found


def _label(data: Data) -> str:
    sizes = " ".join(f"{name}={value}" for name, value in data["sizes"].items())
    return f"{data['architecture']} {data['mode']} {data['dtype']} {sizes}"


def _join(mine: Data, theirs: Data, allowance: float) -> RunPoint:
    before, after = compared_samples(theirs, mine)
    peaks = (mine.get("peak_bytes"), theirs.get("peak_bytes"))
    kept = ("time_s", "time_interval_s", "samples", "peak_bytes", "status", "flags", "environment")
    return RunPoint(
        architecture=mine["architecture"],
        mode=mine["mode"],
        dtype=mine["dtype"],
        sizes=dict(mine["sizes"]),
        run={name: mine[name] for name in kept if name in mine},
        against={name: theirs[name] for name in kept if name in theirs},
        difference=verdict(before, after, allowance=allowance) if before and after else None,
        peak_ratio=peaks[0] / peaks[1] if peaks[0] is not None and peaks[1] else None,
    )


def compared_samples(*sides: Data) -> list[Sequence[float]]:
    """What the times of points are compared by: the quick calls of each process, since neighbours
    only add time; the processes' medians where a side has no others (points of older versions).
    """
    name = "quick_samples" if all(side.get("quick_samples") for side in sides) else "samples"
    return [side.get(name) or () for side in sides]


def _excess(points: Sequence[RunPoint]) -> float | None:
    """Scatter between neighbouring points that their own samples do not explain, as a logarithm.

    Differences of neighbours cancel what all sizes of a program share, and the median of their
    sizes leaves out the few places where a real change begins.
    """
    groups: dict[tuple[str, str, str], list[RunPoint]] = {}
    for point in points:
        if point.difference is not None:
            key = (point.architecture, point.mode, point.dtype)
            groups.setdefault(key, []).append(point)
    gaps, explained = [], []
    for group in groups.values():
        ordered = sorted(group, key=lambda p: sorted(p.sizes.items()))
        for one, other in itertools.pairwise(ordered):
            (a, noise_a), (b, noise_b) = _log_ratio(one), _log_ratio(other)
            gaps.append(abs(a - b))
            explained.append(noise_a**2 + noise_b**2)
    if len(gaps) < _ENOUGH_NEIGHBOURS:
        return None
    excess = (median(gaps) / _NORMAL_QUARTILE) ** 2 - median(explained)
    return math.sqrt(max(excess, 0.0) / 2)


def _moves(shared: Sequence[Key], mine: Iterable[Key], theirs: Iterable[Key]) -> list[float]:
    """How much later in its run each point was measured, as a share of the run."""
    places = [{key: place for place, key in enumerate(run)} for run in (mine, theirs)]
    return [places[0][key] / len(places[0]) - places[1][key] / len(places[1]) for key in shared]


def _order_drift(points: Sequence[RunPoint], moves: Sequence[float]) -> float:
    """What a machine that grows slower adds over the length of a run, as a logarithm.

    Such a machine slows the points that come late in one run and early in the other; runs are
    shuffled by different seeds, so this shows beside what the programs themselves changed.
    """
    groups: dict[str, list[tuple[float, float]]] = {}
    for point, move in zip(points, moves, strict=True):
        if point.difference is not None:
            pair = (move, _log_ratio(point)[0])
            groups.setdefault(f"{point.architecture} {point.mode}", []).append(pair)
    x: list[float] = []
    y: list[float] = []
    for pairs in groups.values():
        for values, column in ((x, 0), (y, 1)):
            middle = sum(pair[column] for pair in pairs) / len(pairs)
            values += [pair[column] - middle for pair in pairs]
    if len(x) < _ENOUGH_NEIGHBOURS or not any(x):
        return 0.0
    slope = fit_slope(x, y, [1.0] * len(x), _ORDER_LEVEL)
    size = abs(slope.value)
    return size + slope.half_width if size > slope.half_width else 0.0


def _log_ratio(point: RunPoint) -> tuple[float, float]:
    """Logarithm of the ratio and its standard error, from the interval."""
    found = point.difference
    assert found is not None
    width = math.log(found.interval[1] / found.interval[0]) / 2 - found.allowance
    return math.log(found.ratio), width / _NORMAL_99


def _corrected(points: Sequence[RunPoint]) -> list[RunPoint]:
    """The points with verdicts kept only as far as their number allows."""
    values = sorted(p.difference.p_value for p in points if p.difference is not None)
    limit = max(
        (p for rank, p in enumerate(values, 1) if p <= FALSE_ALARMS * rank / len(values)),
        default=0.0,
    )
    return [_kept(point, limit) for point in points]


def _kept(point: RunPoint, limit: float) -> RunPoint:
    found = point.difference
    if found is None or found.verdict not in (FASTER, SLOWER) or found.p_value <= limit:
        return point
    doubt = replace(found, verdict=CANNOT_TELL, reason="too few processes for so many points")
    return replace(point, difference=doubt)
