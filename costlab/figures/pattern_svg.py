"""Draws which output reads which position as SVG: a square, the first output on top."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from costlab.figures.frame import HEIGHT, WIDTH, Frame, draw_title, draw_x_axis, draw_y_axis
from costlab.figures.frame import frame_of as _frame_of
from costlab.figures.labels import CELL, PALE, SURE, Entry, draw_legend, legend_height
from costlab.figures.pen import Pen, Point
from costlab.figures.scale import Scale
from costlab.figures.spec import LINEAR, Axis, PatternSpec
from costlab.i18n import _


def pattern_frame(spec: PatternSpec, size: Point | None = None) -> Frame:
    """Where positions lie in :func:`pattern_svg` of the same size: a square at the left."""
    size = size or _size(spec)
    first, last = 0.5, len(spec.layers) + 0.5
    frame = _frame_of(
        Scale(Axis(_("position"), "", LINEAR), first, last),
        Scale(Axis(_("output"), "", LINEAR), last, first),
        size,
        legend_height(_entries(spec), size[0]),
    )
    side = min(frame.right - frame.left, frame.bottom - frame.top)
    return replace(frame, right=frame.left + side, bottom=frame.top + side)


def pattern_svg(
    spec: PatternSpec, *, theme: str = "light", ground: bool = True, size: Point | None = None
) -> str:
    """SVG of a pattern; see :func:`costlab.figures.svg.figure_svg` for the arguments."""
    size = size or _size(spec)
    pen = Pen(theme)
    frame = pattern_frame(spec, size)
    parts = [draw_title(pen, spec.title), *draw_x_axis(pen, frame), *draw_y_axis(pen, frame)]
    for opacity, low, high in ((PALE, 2, spec.upto), (SURE, 1, 1)):
        outline = "".join(_cells(spec, frame, low, high))
        if outline:
            parts.append(pen.area(outline, pen.colour(spec.colour), opacity))
    parts += draw_legend(pen, _entries(spec), size)
    return pen.document(parts, size, spec.title, spec.caption, ground)


def _size(spec: PatternSpec) -> Point:
    return WIDTH, HEIGHT + legend_height(_entries(spec), WIDTH)


def _entries(spec: PatternSpec) -> list[Entry]:
    entries = [Entry(_("read"), spec.colour, CELL)]
    if spec.upto > 1:
        text = _("over up to {count} layers").format(count=spec.upto)
        entries.append(Entry(text, spec.colour, CELL, faint=True))
    return entries


def _cells(spec: PatternSpec, frame: Frame, low: int, high: int) -> Iterator[str]:
    """Outlines of neighbours in a row that are from ``low`` to ``high`` layers away."""
    side = (frame.right - frame.left) / len(spec.layers)
    for row, layers in enumerate(spec.layers):
        start: int | None = None
        for column, away in enumerate((*layers, 0)):
            inside = low <= away <= high
            if inside and start is None:
                start = column
            elif not inside and start is not None:
                x, y = frame.left + start * side, frame.top + row * side
                width = (column - start) * side
                yield f"M{x:.2f} {y:.2f}h{width:.2f}v{side:.2f}h{-width:.2f}z"
                start = None
