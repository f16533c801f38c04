"""Where the measured and the predicted order of two architectures turn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from costlab.comparison.difference import verdict
from costlab.comparison.growth import series_over, varying
from costlab.comparison.record import (
    AGREES,
    CANNOT_TELL,
    DIFFERS,
    ComparedPoint,
    CrossoverCheck,
)
from costlab.comparison.statistics import log_crossing

SAME_PLACE = 1.25  # crossovers within this factor count as equal
Pair = tuple[ComparedPoint, ComparedPoint]
Band = tuple[float, float] | None


def crossovers_of(points: Sequence[ComparedPoint]) -> Iterator[CrossoverCheck]:
    """Where the order of each two architectures turns, for every size that varies alone."""
    groups = dict.fromkeys((p.mode, p.dtype) for p in points)
    for mode, dtype in groups:
        own = [p for p in points if (p.mode, p.dtype) == (mode, dtype)]
        names = list(dict.fromkeys(p.architecture for p in own))
        for a, b in itertools.combinations(names, 2):
            yield from _crossovers(own, a, b, mode)


def _crossovers(
    points: Sequence[ComparedPoint], a: str, b: str, mode: str
) -> Iterator[CrossoverCheck]:
    of_a = [p for p in points if p.architecture == a]
    of_b = [p for p in points if p.architecture == b]
    shared = set.intersection(*({n for p in own for n in p.sizes} for own in (of_a, of_b)))
    for variable in varying([*of_a, *of_b]):
        if variable not in shared:
            continue
        for fixed, series in series_over(of_a, variable):
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
    pairs: Sequence[Pair], variable: str, fixed: Mapping[str, int], mode: str
) -> CrossoverCheck:
    x = [float(p.sizes[variable]) for p, _q in pairs]
    predicted_ratios = [p.predicted["time_s"] / q.predicted["time_s"] for p, q in pairs]
    measured_ratios = [p.measured["time_s"] / q.measured["time_s"] for p, q in pairs]
    bands = [_band(pair) for pair in pairs]
    predicted, measured = log_crossing(x, predicted_ratios), log_crossing(x, measured_ratios)
    interval = _crossing_interval(x, bands) if measured is not None else None
    first, second = pairs[0]
    return CrossoverCheck(
        a=first.architecture,
        b=second.architecture,
        mode=mode,
        variable=variable,
        fixed=fixed,
        predicted=predicted,
        measured=measured,
        verdict=_verdict(predicted, measured, interval, predicted_ratios, measured_ratios, bands),
        interval=interval,
    )


def _band(pair: Pair) -> Band:
    """Interval of the measured ratio, first over second; None with one process on a side."""
    first, second = (p.measured.get("samples") or () for p in pair)
    if len(first) < 2 or len(second) < 2:
        return None
    return verdict(second, first).interval


def _crossing_interval(x: Sequence[float], bands: Sequence[Band]) -> tuple[float, float] | None:
    """Between the crossings of the band's edges; None where one is unknown or never crosses."""
    known_bands = [band for band in bands if band is not None]
    if len(known_bands) < len(bands):
        return None
    edges = [log_crossing(x, [band[side] for band in known_bands]) for side in (0, 1)]
    known = sorted(edge for edge in edges if edge is not None)
    return (known[0], known[1]) if len(known) == 2 else None


def _verdict(
    predicted: float | None,
    measured: float | None,
    interval: tuple[float, float] | None,
    predicted_ratios: Sequence[float],
    measured_ratios: Sequence[float],
    bands: Sequence[Band],
) -> str:
    """Differs only where noise does not explain it: a size whose whole band contradicts."""
    if predicted is not None and measured is not None:
        apart = max(predicted, measured) / min(predicted, measured)
        within = interval is not None and interval[0] <= predicted <= interval[1]
        if apart <= SAME_PLACE or within:
            return AGREES
        if interval is not None:
            return DIFFERS
    against = [
        (math.log(p) * math.log(m) < 0, band is None or band[0] <= 1 <= band[1])
        for p, m, band in zip(predicted_ratios, measured_ratios, bands, strict=True)
    ]
    if (predicted is None or measured is None) and not any(wrong for wrong, _open in against):
        return AGREES
    return CANNOT_TELL if all(open_ for wrong, open_ in against if wrong) else DIFFERS
