"""How measured costs grow with one size, and where one architecture overtakes another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from costlab.comparison.record import (
    AGREES,
    CANNOT_TELL,
    DIFFERS,
    ComparedPoint,
    CrossoverCheck,
    Exponent,
)
from costlab.comparison.statistics import fit_slope, log_crossing

FIELDS = {"time": "time_s", "peak_bytes": "peak_bytes"}
TOO_WIDE = 0.5  # half width from which an exponent says nothing
SAME = 0.05  # exponents closer than this count as equal
SAME_PLACE = 1.25  # crossovers within this factor count as equal
Series = tuple[Mapping[str, int], list[ComparedPoint]]


def exponents_of(points: Sequence[ComparedPoint]) -> Iterator[Exponent]:
    """Exponents of every architecture, mode and metric in every size that varies alone.

    The measured slope less the predicted one is the slope of the log ratio: fitting that keeps
    the curvature that both share (a sum of powers is no straight line) out of the interval.
    """
    programs = dict.fromkeys((p.architecture, p.mode, p.dtype) for p in points)
    for program in programs:
        own = [p for p in points if (p.architecture, p.mode, p.dtype) == program]
        for variable in _varying(own):
            for fixed, series in _series(own, variable):
                for metric in FIELDS:
                    found = _exponent(series, variable, metric, fixed)
                    if found is not None:
                        yield found


def crossovers_of(points: Sequence[ComparedPoint]) -> Iterator[CrossoverCheck]:
    """Where the order of each two architectures turns, for every size that varies alone."""
    groups = dict.fromkeys((p.mode, p.dtype) for p in points)
    for mode, dtype in groups:
        own = [p for p in points if (p.mode, p.dtype) == (mode, dtype)]
        names = list(dict.fromkeys(p.architecture for p in own))
        for a, b in itertools.combinations(names, 2):
            yield from _crossovers(own, a, b, mode)


def _varying(points: Sequence[ComparedPoint]) -> list[str]:
    names = dict.fromkeys(name for point in points for name in point.sizes)
    return [name for name in names if len({p.sizes[name] for p in points if name in p.sizes}) > 1]


def _series(points: Sequence[ComparedPoint], variable: str) -> Iterator[Series]:
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
    # Memory is counted, not sampled: two points already give its slope.
    half_width = 0.0 if metric == "peak_bytes" and len(used) == 2 else gap.half_width
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
        verdict=_verdict(gap.value, half_width),
    )


def _verdict(gap: float, half_width: float) -> str:
    if half_width > TOO_WIDE:
        return CANNOT_TELL
    return AGREES if abs(gap) <= max(half_width, SAME) else DIFFERS


def _weight(point: ComparedPoint, field: str) -> float:
    """Inverse variance of the log of the measured value, from its interval."""
    interval = point.measured.get("time_interval_s") if field == "time_s" else None
    if not interval or not interval[0]:
        return 1.0
    half = math.log(interval[1] / interval[0]) / 2
    # A floor of 2 %: three processes that happen to agree must not outweigh all others.
    return 1.0 / max(half, 0.02) ** 2


def _crossovers(
    points: Sequence[ComparedPoint], a: str, b: str, mode: str
) -> Iterator[CrossoverCheck]:
    of_a = [p for p in points if p.architecture == a]
    of_b = [p for p in points if p.architecture == b]
    shared = set.intersection(*({n for p in own for n in p.sizes} for own in (of_a, of_b)))
    for variable in _varying([*of_a, *of_b]):
        if variable not in shared:
            continue
        for fixed, series in _series(of_a, variable):
            common = {k: v for k, v in fixed.items() if k in shared}
            partner = {
                p.sizes[variable]: p
                for p in of_b
                if all(p.sizes.get(k) == v for k, v in common.items())
            }
            pairs = [
                (p, q)
                for p in series
                if (q := partner.get(p.sizes[variable])) is not None
                and p.measured.get("time_s")
                and q.measured.get("time_s")
            ]
            if len(pairs) > 1:
                yield _crossover(pairs, variable, common, mode)


def _crossover(
    pairs: Sequence[tuple[ComparedPoint, ComparedPoint]],
    variable: str,
    fixed: Mapping[str, int],
    mode: str,
) -> CrossoverCheck:
    x = [float(p.sizes[variable]) for p, _q in pairs]
    predicted = log_crossing(x, [p.predicted["time_s"] / q.predicted["time_s"] for p, q in pairs])
    measured = log_crossing(x, [p.measured["time_s"] / q.measured["time_s"] for p, q in pairs])
    if predicted is None or measured is None:
        verdict = AGREES if predicted is measured else DIFFERS
    else:
        apart = max(predicted, measured) / min(predicted, measured)
        verdict = AGREES if apart <= SAME_PLACE else DIFFERS
    first, second = pairs[0]
    return CrossoverCheck(
        a=first.architecture,
        b=second.architecture,
        mode=mode,
        variable=variable,
        fixed=fixed,
        predicted=predicted,
        measured=measured,
        verdict=verdict,
    )
