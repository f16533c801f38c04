"""Figure specs of what predictions and comparisons say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from costlab.comparison.record import ComparedPoint, Comparison
from costlab.figures.spec import MEASURED, PREDICTED, Axis, FigureSpec, MapSpec, Series
from costlab.i18n import _
from costlab.prediction.maps import WinnerMap
from costlab.prediction.record import Prediction
from costlab.symbols import describe

METRICS = {"time": ("time_s", "s"), "peak_bytes": ("peak_bytes", "B")}


def map_figure(found: WinnerMap) -> MapSpec:
    """The winner map as a figure."""
    return MapSpec(
        title=_("Cheapest in {metric}").format(metric=found.metric),
        x=size_axis(found.x_name),
        y=size_axis(found.y_name),
        x_values=tuple(found.x.tolist()),
        y_values=tuple(found.y.tolist()),
        names=found.names,
        cells=tuple(tuple(int(cell) for cell in row) for row in found.winner),
        best=tuple(tuple(int(cell) for cell in row) for row in found.best),
        caption=_("predicted; hatched where intervals overlap, empty outside all formulas"),
    )


def size_axis(name: str) -> Axis:
    """A logarithmic axis for a size."""
    known = describe(name)
    return Axis(f"{name}, {known.meaning}" if known else name)


def growth_figures(comparison: Comparison, metric: str = "time") -> list[FigureSpec]:
    """Predicted and measured ``metric`` over each size that varies alone, one figure per mode."""
    figures = []
    keys = dict.fromkeys(
        (e.variable, e.mode, tuple(e.fixed.items()))
        for e in comparison.exponents
        if e.metric == metric
    )
    grouped: dict[tuple[str, str], list[tuple[str, Mapping[str, int]]]] = {}
    for variable, mode, fixed in keys:
        for name in dict.fromkeys(p.architecture for p in comparison.points):
            if any(
                e.architecture == name and e.variable == variable and e.mode == mode
                and tuple(e.fixed.items()) == fixed and e.metric == metric
                for e in comparison.exponents
            ):  # fmt: skip
                grouped.setdefault((variable, mode), []).append((name, dict(fixed)))
    for (variable, mode), curves in grouped.items():
        series: list[Series] = []
        for colour, (name, curve_sizes) in enumerate(curves):
            points = _along(comparison.points, name, mode, variable, curve_sizes)
            label = (
                name if len({c for c, _f in curves}) == len(curves) else _named(name, curve_sizes)
            )
            series += _pair(points, variable, metric, label, colour)
        caption = _("lines predicted with their interval, points measured")
        figures.append(_growth_figure(metric, mode, variable, series, caption))
    return figures


def _growth_figure(
    metric: str, mode: str, variable: str, series: Sequence[Series], caption: str
) -> FigureSpec:
    title = {"time": _("Time"), "peak_bytes": _("Peak memory")}[metric]
    return FigureSpec(
        title=f"{title}, {mode}",
        x=size_axis(variable),
        y=Axis(title.lower(), METRICS[metric][1]),
        series=tuple(series),
        caption=caption,
    )


def predicted_figures(predictions: Sequence[Prediction], metric: str = "time") -> list[FigureSpec]:
    """Predicted ``metric`` over each size that varies while all others stay, one per mode."""
    names = dict.fromkeys(name for p in predictions for name in p.sizes)
    field = METRICS[metric][0]
    figures = []
    for mode in dict.fromkeys(p.mode for p in predictions):
        for variable in names:
            curves = _curves([p for p in predictions if p.mode == mode], variable)
            programs = [name for name, _fixed in curves]
            series = []
            for colour, ((name, fixed), points) in enumerate(curves.items()):
                bands = [p.time_interval_s for p in points] if metric == "time" else []
                whole = bool(bands) and all(None not in band for band in bands)
                series.append(
                    Series(
                        name=name if programs.count(name) == 1 else _named(name, dict(fixed)),
                        x=tuple(float(p.sizes[variable]) for p in points),
                        y=tuple(float(getattr(p, field)) for p in points),
                        kind=PREDICTED,
                        colour=colour,
                        low=tuple(band[0] or 0.0 for band in bands) if whole else (),
                        high=tuple(band[1] or 0.0 for band in bands) if whole else (),
                    )
                )
            if series:
                caption = _("predicted, with the interval where there is one")
                figures.append(_growth_figure(metric, mode, variable, series, caption))
    return figures


Curves = dict[tuple[str, tuple[tuple[str, int], ...]], list[Prediction]]


def _curves(predictions: Sequence[Prediction], variable: str) -> Curves:
    """Predictions that differ in ``variable`` alone, ordered by it, where there are several."""
    found: Curves = {}
    for p in predictions:
        if variable in p.sizes:
            fixed = tuple((k, v) for k, v in p.sizes.items() if k != variable)
            found.setdefault((p.architecture, fixed), []).append(p)
    return {
        key: sorted(points, key=lambda p: p.sizes[variable])
        for key, points in found.items()
        if len(points) > 1
    }


def _named(name: str, sizes: Mapping[str, int]) -> str:
    return f"{name} " + " ".join(f"{k}={v}" for k, v in sizes.items())


def _along(
    points: Sequence[ComparedPoint], name: str, mode: str, variable: str, fixed: Mapping[str, int]
) -> list[ComparedPoint]:
    wanted = {**fixed}
    found = [
        p
        for p in points
        if p.architecture == name
        and p.mode == mode
        and {k: v for k, v in p.sizes.items() if k != variable} == wanted
    ]
    return sorted(found, key=lambda p: p.sizes[variable])


def _pair(
    points: Sequence[ComparedPoint], variable: str, metric: str, label: str, colour: int
) -> list[Series]:
    """The predicted line with its band and the measured points with their error bars."""
    field, _unit = METRICS[metric]
    predicted = [p for p in points if p.predicted.get(field)]
    measured = [p for p in points if p.measured.get(field)]
    series = []
    if predicted:
        bands = [p.predicted["time_interval_s"] for p in predicted] if metric == "time" else []
        whole = bool(bands) and all(None not in band for band in bands)
        series.append(
            Series(
                name=_("{name} predicted").format(name=label),
                x=tuple(float(p.sizes[variable]) for p in predicted),
                y=tuple(float(p.predicted[field]) for p in predicted),
                kind=PREDICTED,
                colour=colour,
                low=tuple(band[0] for band in bands) if whole else (),
                high=tuple(band[1] for band in bands) if whole else (),
            )
        )
    if measured:
        bars = [p.measured.get("time_interval_s") for p in measured] if metric == "time" else []
        known = _all_known(bars)
        series.append(
            Series(
                name=_("{name} measured").format(name=label),
                x=tuple(float(p.sizes[variable]) for p in measured),
                y=tuple(float(p.measured[field]) for p in measured),
                kind=MEASURED,
                colour=colour,
                low=tuple(bar[0] for bar in bars if bar) if known else (),
                high=tuple(bar[1] for bar in bars if bar) if known else (),
            )
        )
    return series


def _all_known(bars: Sequence[Sequence[float] | None]) -> bool:
    """Whether every point has an error bar."""
    return bool(bars) and all(bar is not None for bar in bars)
