"""The public way to a comparison: measured points and the predictions for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from costlab.comparison.crossings import crossovers_of
from costlab.comparison.growth import exponents_of
from costlab.comparison.record import ComparedPoint, Comparison, ErrorSummary
from costlab.measurement.point import PointResult
from costlab.measurement.statistics import quantile
from costlab.prediction.record import Prediction

METRICS = {"time": "time_s", "peak_bytes": "peak_bytes", "energy": "energy_j"}
_MEASURED = (
    "time_s", "time_interval_s", "samples", "peak_bytes", "rss_peak_bytes", "device_bytes",
    "energy_j", "power_w", "status", "point", "run", "environment", "threads", "reasons",
)  # fmt: skip
_PREDICTED = (
    "time_s", "time_interval_s", "peak_bytes", "energy_j", "basis", "limiter", "flop", "bytes",
    "steps", "gaps",
)  # fmt: skip


def compare(
    points: Iterable[Mapping[str, Any] | PointResult],
    predictions: Iterable[Prediction],
    run: str = "",
) -> Comparison:
    """Join measured points with predictions of the same architecture, mode, dtype and sizes.

    A size that only one of the two names is ignored (predictions name defaults too). Points
    without a prediction, or without a time, are kept and listed; they enter no error.

    Args:
        points: results of a measurement, as records or as the objects of ``costlab profile``.
        predictions: what was predicted.
        run: name of the run the points are from.
    """
    known: dict[tuple[str, str, str], list[Prediction]] = {}
    for prediction in predictions:
        key = (prediction.architecture, prediction.mode, prediction.dtype)
        known.setdefault(key, []).append(prediction)
    compared: list[ComparedPoint] = []
    unmatched: list[str] = []
    for point in points:
        data = point.to_json() if isinstance(point, PointResult) else point
        candidates = known.get((data["architecture"], data["mode"], data["dtype"]), [])
        found = _matching(candidates, data["sizes"])
        if found is None:
            unmatched.append(_label(data))
            continue
        compared.append(_join(data, found))
    return Comparison(
        run=run,
        points=tuple(compared),
        overall=_summaries(compared),
        architectures={
            name: _summaries([point for point in compared if point.architecture == name])
            for name in dict.fromkeys(point.architecture for point in compared)
        },
        exponents=tuple(exponents_of(compared)),
        crossovers=tuple(crossovers_of(compared)),
        unmatched=tuple(unmatched),
    )


def _matching(candidates: list[Prediction], sizes: Mapping[str, int]) -> Prediction | None:
    for prediction in candidates:
        shared = prediction.sizes.keys() & sizes.keys()
        if shared and all(prediction.sizes[name] == sizes[name] for name in shared):
            return prediction
    return None


def _label(data: Mapping[str, Any]) -> str:
    sizes = " ".join(f"{name}={value}" for name, value in data["sizes"].items())
    return f"{data['architecture']} {data['mode']} {data['dtype']} {sizes}"


def _join(data: Mapping[str, Any], prediction: Prediction) -> ComparedPoint:
    predicted = prediction.to_json()
    ratio: dict[str, float | None] = {}
    for name, field in METRICS.items():
        wanted, seen = predicted[field], data.get(field)
        ratio[name] = wanted / seen if wanted is not None and seen else None
    low, high = prediction.time_interval_s
    seen_s = data.get("time_s")
    inside = None
    if seen_s is not None and low is not None:
        inside = low <= seen_s <= (math.inf if high is None else high)
    return ComparedPoint(
        architecture=data["architecture"],
        mode=data["mode"],
        dtype=data["dtype"],
        sizes={**prediction.sizes, **data["sizes"]},
        predicted={name: predicted[name] for name in _PREDICTED},
        measured={name: data[name] for name in _MEASURED if name in data},
        ratio=ratio,
        in_interval=inside,
        flags=tuple(data.get("flags", ())),
    )


def _summaries(points: Sequence[ComparedPoint]) -> dict[str, ErrorSummary]:
    found: dict[str, ErrorSummary] = {}
    for metric in METRICS:
        errors = [r - 1 for point in points if (r := point.ratio.get(metric)) is not None]
        if not errors:
            continue
        sizes = [abs(error) for error in errors]
        inside = [point.in_interval for point in points if point.in_interval is not None]
        covered = sum(inside) / len(inside) if metric == "time" and inside else None
        found[metric] = ErrorSummary(
            count=len(errors),
            median_ape=quantile(sizes, 0.5),
            p90_ape=quantile(sizes, 0.9),
            max_ape=max(sizes),
            bias=quantile(errors, 0.5),
            in_interval=covered,
        )
    return found
