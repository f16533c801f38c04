"""Draws a plot of curves and points as SVG."""

from __future__ import annotations

import itertools
import math

from costlab.figures.frame import (
    HEIGHT,
    WIDTH,
    Frame,
    clip_area,
    clip_line,
    draw_title,
    draw_x_axis,
    draw_y_axis,
    frame_of,
)
from costlab.figures.labels import Entry, Placer, draw_legend, legend_height
from costlab.figures.palette import DASH, style
from costlab.figures.pen import Pen, Point
from costlab.figures.scale import scale_of
from costlab.figures.spec import MEASURED, FigureSpec, Mark, Series

_BAND = 0.15
_FAINT = 0.55


def figure_frame(spec: FigureSpec, size: Point | None = None) -> Frame:
    """Where values lie in :func:`figure_svg` of the same size.

    Raises:
        ValueError: if no value can be drawn.
    """
    size = size or _size(spec)
    x, y = scale_of(spec.x, spec.values("x"), 0.02), scale_of(spec.y, spec.values("y"))
    return frame_of(x, y, size, legend_height(_entries(spec), size[0]))


def figure_svg(
    spec: FigureSpec, *, theme: str = "light", ground: bool = True, size: Point | None = None
) -> str:
    """SVG of a plot.

    Args:
        spec: what to draw.
        theme: "light", "dark", or "auto": light, and dark where the page is.
        ground: paint the surface; else the picture takes the page's.
        size: width and height in user units; None: 760 wide, as high as the legend needs.

    Raises:
        ValueError: if no value can be drawn.
    """
    size = size or _size(spec)
    pen = Pen(theme)
    frame = figure_frame(spec, size)
    placer = Placer(pen, frame)
    for ring in spec.rings:
        placer.keep_clear(frame.at(ring.x, ring.y), 8)
    for series in spec.series:
        placer.avoid(_at(series, series.y, frame))
    parts = [draw_title(pen, spec.title), *draw_x_axis(pen, frame), *draw_y_axis(pen, frame)]
    parts += itertools.chain.from_iterable(_band(pen, s, frame) for s in spec.series)
    parts += itertools.chain.from_iterable(_mark(pen, m, frame, placer) for m in spec.marks)
    for series in sorted(spec.series, key=lambda s: (s.kind == MEASURED, not s.faint)):
        draw = _points if series.kind == MEASURED else _curve
        parts += draw(pen, series, frame)
    for ring in spec.rings:
        at = frame.at(ring.x, ring.y)
        if frame.holds(at):
            parts.append(pen.circle(at, 7, "none", pen.ground.text, 2))
            parts += placer.place(at, ring.label)
    parts += draw_legend(pen, _entries(spec), size)
    return pen.document(parts, size, spec.title, spec.caption, ground)


def _size(spec: FigureSpec) -> Point:
    return WIDTH, HEIGHT + legend_height(_entries(spec), WIDTH)


def _entries(spec: FigureSpec) -> list[Entry]:
    return [Entry(s.name, s.colour, s.kind, s.faint) for s in spec.series]


def _at(series: Series, values: tuple[float, ...], frame: Frame) -> list[Point]:
    found = zip(series.x, values, strict=True)
    return [frame.at(x, y) for x, y in found if math.isfinite(y)]


def _band(pen: Pen, series: Series, frame: Frame) -> list[str]:
    finite = all(map(math.isfinite, (*series.low, *series.high)))
    if series.kind == MEASURED or not (series.low and series.high and finite):
        return []
    upper, lower = _at(series, series.high, frame), _at(series, series.low, frame)
    area = clip_area([*upper, *reversed(lower)], frame)
    return [pen.polygon(area, pen.colour(series.colour), _BAND)] if area else []


def _curve(pen: Pen, series: Series, frame: Frame) -> list[str]:
    width, opacity = (1.4, _FAINT) if series.faint else (2.0, 1.0)
    colour, dash = pen.colour(series.colour), style(series.colour).dash
    pieces = clip_line(_at(series, series.y, frame), frame)
    return [pen.polyline(piece, colour, width, dash, opacity) for piece in pieces]


def _points(pen: Pen, series: Series, frame: Frame) -> list[str]:
    colour = pen.colour(series.colour)
    parts = []
    bars = zip(series.x, series.low, series.high, strict=True) if series.low else ()
    for x, low, high in bars:
        at = frame.at_x(x)
        whole = clip_line([(at, frame.at_y(low)), (at, frame.at_y(high))], frame)
        for foot, top in whole:
            parts.append(
                pen.path(
                    f"M{at:.1f} {top[1]:.1f}V{foot[1]:.1f}M{at - 3.5:.1f} {top[1]:.1f}h7"
                    f"M{at - 3.5:.1f} {foot[1]:.1f}h7",
                    colour,
                    1.4,
                )
            )
    marker = style(series.colour).marker
    spots = _at(series, series.y, frame)
    return parts + [pen.marker(at, marker, colour) for at in spots if frame.holds(at)]


def _mark(pen: Pen, mark: Mark, frame: Frame, placer: Placer) -> list[str]:
    if mark.axis == "x":
        at = frame.at_x(mark.value)
        if not frame.holds((at, frame.top)):
            return []
        line = pen.line((at, frame.top), (at, frame.bottom), pen.ground.dim, 1, DASH)
        return [line, *placer.place((at, frame.top), mark.label, 4, pen.ground.dim)]
    at = frame.at_y(mark.value)
    if not frame.holds((frame.left, at)):
        return []
    line = pen.line((frame.left, at), (frame.right, at), pen.ground.dim, 1, DASH)
    return [line, *placer.along(at, mark.label, pen.ground.dim)]
