"""How measured costs grow with one size: exponents beside the predicted ones, and laws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from costlab.comparison.laws import fit_law
from costlab.comparison.record import (
    AGREES,
    CANNOT_TELL,
    DIFFERS,
    ComparedPoint,
    Exponent,
)
from costlab.comparison.statistics import fit_slope, pooled_noise, slope_half_width

FIELDS = {"time": "time_s", "peak_bytes": "peak_bytes"}
TOO_WIDE = 0.3  # width of the interval from which an exponent says nothing
SAME = {"time": 0.15, "peak_bytes": 0.05}  # exponents closer than this count as equal
Series = tuple[Mapping[str, int], list[ComparedPoint]]


def exponents_of(points: Sequence[ComparedPoint]) -> Iterator[Exponent]:
    """Exponents of every architecture, mode and metric in every size that varies alone.

    Both are slopes over the same sizes with the same weights, so curvature (a sum of powers is no
    straight line) bends both alike. The interval is what the scatter of the process medians does
    to the measured slope; points without them fall back to the scatter of the log ratio about its
    line.
    """
    programs = dict.fromkeys((p.architecture, p.mode, p.dtype) for p in points)
    for program in programs:
        own = [p for p in points if (p.architecture, p.mode, p.dtype) == program]
        for variable in varying(own):
            for fixed, series in series_over(own, variable):
                for metric in FIELDS:
                    found = _exponent(series, variable, metric, fixed)
                    if found is not None:
                        yield found


def varying(points: Sequence[ComparedPoint]) -> list[str]:
    """Sizes with more than one value."""
    names = dict.fromkeys(name for point in points for name in point.sizes)
    return [name for name in names if len({p.sizes[name] for p in points if name in p.sizes}) > 1]


def series_over(points: Sequence[ComparedPoint], variable: str) -> Iterator[Series]:
    """Points that differ in ``variable`` alone, ordered by it."""
    groups: dict[tuple[tuple[str, int], ...], list[ComparedPoint]] = {}
    for point in points:
        fixed = tuple(sorted((k, v) for k, v in point.sizes.items() if k != variable))
        groups.setdefault(fixed, []).append(point)
    for fixed, group in groups.items():
        if len({p.sizes[variable] for p in group}) > 1:
            yield dict(fixed), sorted(group, key=lambda p: p.sizes[variable])


def _exponent(
    series: Sequence[ComparedPoint], variable: str, metric: str, fixed: Mapping[str, int]
) -> Exponent | None:
    field = FIELDS[metric]
    used = [p for p in series if p.measured.get(field) and p.predicted.get(field)]
    if len({p.sizes[variable] for p in used}) < 2:
        return None
    x = [math.log(p.sizes[variable]) for p in used]
    predicted_y = [math.log(p.predicted[field]) for p in used]
    measured_y = [math.log(p.measured[field]) for p in used]
    weights = [_weight(p, field) for p in used]
    predicted = fit_slope(x, predicted_y, weights)
    gap = fit_slope(x, [m - p for m, p in zip(measured_y, predicted_y, strict=True)], weights)
    measured = predicted.value + gap.value
    noise = pooled_noise([p.measured.get("samples") or () for p in used])
    if metric == "peak_bytes":
        half_width = 0.0  # counted, not sampled
    elif noise is not None:
        half_width = slope_half_width(x, weights, noise)
    else:
        half_width = gap.half_width
    interval = None
    if math.isfinite(half_width):
        interval = (measured - half_width, measured + half_width)
    first = used[0]
    return Exponent(
        architecture=first.architecture,
        mode=first.mode,
        variable=variable,
        metric=metric,
        fixed=fixed,
        count=len(used),
        predicted=predicted.value,
        measured=measured,
        interval=interval,
        verdict=_verdict(gap.value, half_width, metric),
        noise=None if noise is None or metric != "time" else noise.deviation,
        law=fit_law([p.sizes[variable] for p in used], [p.measured[field] for p in used]),
    )


def _verdict(gap: float, half_width: float, metric: str) -> str:
    if 2 * half_width > TOO_WIDE:
        return CANNOT_TELL
    return AGREES if abs(gap) <= SAME[metric] else DIFFERS


def _weight(point: ComparedPoint, field: str) -> float:
    """Inverse variance of the log of the measured value, from its interval."""
    interval = point.measured.get("time_interval_s") if field == "time_s" else None
    if not interval or not interval[0]:
        return 1.0
    half = math.log(interval[1] / interval[0]) / 2
    # A floor of 2 %: three processes that happen to agree must not outweigh all others.
    return 1.0 / max(half, 0.02) ** 2
