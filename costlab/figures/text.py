"""Draws a figure in plain text, for terminals and logs."""

from __future__ import annotations

import itertools

from costlab.figures.scale import Scale, scale_of
from costlab.figures.spec import MEASURED, FigureSpec, Series

_SIGNS = "ox+*#@%&"
_LINE = "·"


def figure_text(spec: FigureSpec, width: int = 72, height: int = 18) -> str:
    """A plot of ``width`` x ``height`` characters with axes, ticks and a legend.

    Measured points have a sign of their own per colour; curves are dotted lines.

    Raises:
        ValueError: if no value can be drawn.
    """
    x, y = scale_of(spec.x, spec.values("x")), scale_of(spec.y, spec.values("y"))
    canvas = [[" "] * width for _row in range(height)]
    curves = [series for series in spec.series if series.kind != MEASURED]
    points = [series for series in spec.series if series.kind == MEASURED]
    for series in curves:
        _draw_curve(canvas, series, x, y)
    for series in points:
        for a, b in zip(series.x, series.y, strict=True):
            _put(canvas, x.position(a), y.position(b), _sign(series))
    labels = {_row(y.position(value), height): label for value, label in y.ticks()}
    margin = max(len(label) for label in labels.values())
    lines = [spec.title]
    for index, row in enumerate(canvas):
        label = labels.get(index, "")
        lines.append(f"{label:>{margin}} |{''.join(row).rstrip()}")
    lines.append(f"{'':>{margin}} +{'-' * width}")
    lines.append(f"{'':>{margin}}  {_tick_line(x, width)}")
    lines.append(f"{'':>{margin}}  {spec.x.label:^{width}}".rstrip())
    legend = [f"{_LINE * 2} {s.name}" for s in curves] + [f"{_sign(s)} {s.name}" for s in points]
    lines.append(f"{'':>{margin}}  " + "   ".join(legend))
    return "\n".join(lines)


def _sign(series: Series) -> str:
    return _SIGNS[series.colour % len(_SIGNS)]


def _row(position: float, height: int) -> int:
    return height - 1 - min(max(round(position * (height - 1)), 0), height - 1)


def _put(canvas: list[list[str]], x: float, y: float, sign: str) -> None:
    width = len(canvas[0])
    if 0 <= x <= 1 and 0 <= y <= 1:
        canvas[_row(y, len(canvas))][min(round(x * (width - 1)), width - 1)] = sign


def _draw_curve(canvas: list[list[str]], series: Series, x: Scale, y: Scale) -> None:
    """Straight lines between the points, as they are drawn in the SVG."""
    at = [(x.position(a), y.position(b)) for a, b in zip(series.x, series.y, strict=True)]
    steps = 2 * len(canvas[0])
    for (x0, y0), (x1, y1) in itertools.pairwise(at):
        for step in range(steps + 1):
            share = step / steps
            _put(canvas, x0 + share * (x1 - x0), y0 + share * (y1 - y0), _LINE)


def _tick_line(scale: Scale, width: int) -> str:
    line = [" "] * (width + 8)
    taken = -1
    for value, label in scale.ticks():
        at = round(scale.position(value) * (width - 1))
        start = max(at - len(label) // 2, 0)
        if start > taken and start + len(label) <= len(line):
            line[start : start + len(label)] = label
            taken = start + len(label)
    return "".join(line).rstrip()
