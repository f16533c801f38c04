"""A plot in words, for those who do not see it."""

from __future__ import annotations

import math

from costlab.figures.spec import MEASURED, FigureSpec, Series
from costlab.i18n import _
from costlab.units import format_value
from costlab_gui.plot.crosshair import value_at


def summary(spec: FigureSpec, at: float | None) -> str:
    """Title, axes, every curve from end to end, and its value at ``at``."""
    lines = [f"{spec.title}. {spec.y.label}, {spec.x.label}."]
    lines += [_curve(series, spec, at) for series in spec.series if series.x]
    lines += [mark.label for mark in spec.marks]
    lines += [ring.label for ring in spec.rings]
    return "\n".join(lines)


def _curve(series: Series, spec: FigureSpec, at: float | None) -> str:
    def pair(index: int) -> dict[str, str]:
        return {
            "x": format_value(_whole(series.x[index]), spec.x.unit),
            "y": format_value(series.y[index], spec.y.unit),
        }

    first, last = pair(0), pair(-1)
    if series.kind == MEASURED:
        return _("{name}: {count} points from {x} to {end}").format(
            name=series.name, count=len(series.x), x=first["x"], end=last["x"]
        )
    text = _("{name}: {y} at {x}, {last} at {end}").format(
        name=series.name, **first, last=last["y"], end=last["x"]
    )
    here = None if at is None else value_at(series, at, spec.x, spec.y)
    if at is not None and here is not None:
        text += "; " + _("{y} at {x}").format(
            y=format_value(here, spec.y.unit), x=format_value(_whole(at), spec.x.unit)
        )
    return text


def _whole(value: float) -> float | int:
    nearest = round(value)
    return nearest if math.isclose(value, nearest, rel_tol=1e-9) else value
