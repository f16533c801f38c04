"""Draws values by kind at the moments of a program as SVG: one stacked column each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from costlab.figures.frame import (
    BOTTOM,
    HEIGHT,
    TOP,
    WIDTH,
    Frame,
    draw_title,
    draw_y_axis,
    frame_of,
)
from costlab.figures.labels import CELL, Entry, Placer, draw_legend, legend_height
from costlab.figures.palette import DASH
from costlab.figures.pen import TITLE, Pen, Point, width_of
from costlab.figures.scale import Scale
from costlab.figures.spec import LINEAR, Axis, StackSpec
from costlab.i18n import _

_AIR = 30.0  # room above the highest column for the sentence about it
_TITLE_AT = 34.0
_NEAR = 2.0  # a mark within this factor of the highest column is drawn to scale
_WIDEST = 150.0
_GAP = 0.12
_OPACITY = 0.85


def stack_frame(spec: StackSpec, size: Point | None = None) -> Frame:
    """Where values lie in :func:`stack_svg`; x counts moments from 0, each one wide."""
    size = size or _size(spec)
    count = len(spec.moments)
    top = max((spec.total(moment) for moment in range(count)), default=0.0) or 1.0
    foot = legend_height(_entries(spec), size[0])
    height = max(size[1] - foot - TOP - BOTTOM, 2 * _AIR)
    near = [mark.value for mark in spec.marks if mark.value <= _NEAR * top]
    highest = max(top * height / (height - _AIR), *(value * 1.04 for value in near), 0.0)
    y = Scale(spec.y, 0.0, highest)
    x = Scale(Axis("", "", LINEAR), 0.0, float(max(count, 1)))
    return frame_of(x, y, size, foot)


def stack_svg(
    spec: StackSpec, *, theme: str = "light", ground: bool = True, size: Point | None = None
) -> str:
    """SVG of a stack; see :func:`costlab.figures.svg.figure_svg` for the arguments."""
    size = size or _size(spec)
    pen = Pen(theme)
    frame = stack_frame(spec, size)
    parts = [draw_title(pen, spec.title), *draw_y_axis(pen, frame)]
    for moment in range(len(spec.moments)):
        parts += _column(pen, spec, frame, moment)
    parts.append(pen.line((frame.left, frame.bottom), (frame.right, frame.bottom), pen.ground.line))
    parts += _moments(pen, spec, frame)
    placer = Placer(pen, frame)
    parts += _marks(pen, spec, frame)
    if spec.peak is not None:
        left, right = column_span(frame, spec.peak)
        at = frame.at_y(spec.total(spec.peak))
        parts.append(pen.line((left - 3, at), (right + 3, at), pen.ground.text, 2))
        needed = width_of(spec.peak_label) + 12
        start = min(max((left + right - needed) / 2, frame.left + 4), frame.right - needed)
        parts += placer.put((start, at - 24), spec.peak_label)
    parts += draw_legend(pen, _entries(spec), size)
    return pen.document(parts, size, spec.title, spec.caption, ground)


def column_span(frame: Frame, moment: int) -> tuple[float, float]:
    """Left and right edge of a moment's column."""
    middle = frame.at_x(moment + 0.5)
    whole = frame.at_x(1) - frame.at_x(0)
    half = min(whole * (1 - _GAP), _WIDEST) / 2
    return middle - half, middle + half


def _size(spec: StackSpec) -> Point:
    return WIDTH, HEIGHT + legend_height(_entries(spec), WIDTH)


def _entries(spec: StackSpec) -> list[Entry]:
    return [Entry(layer.name, layer.colour, CELL) for layer in reversed(spec.layers)]


def _column(pen: Pen, spec: StackSpec, frame: Frame, moment: int) -> Iterator[str]:
    left, right = column_span(frame, moment)
    below = 0.0
    for layer in spec.layers:
        value = layer.values[moment]
        if value > 0:
            top, foot = frame.at_y(below + value), frame.at_y(below)
            # A gap of the surface tells neighbours apart without their colours.
            height = max(foot - top - 1, 0.5)
            colour = pen.colour(layer.colour)
            yield pen.rect((left, top), (right - left, height), colour, _OPACITY)
            if height > 17 and width_of(layer.name) + 10 < right - left:
                at = ((left + right) / 2, top + height / 2 + 4.5)
                yield pen.text(at, layer.name, colour=pen.ground.surface, anchor="middle")
        below += value


def _moments(pen: Pen, spec: StackSpec, frame: Frame) -> Iterator[str]:
    """What runs below each column where it fits, else its number; and the phases."""
    room = frame.at_x(1) - frame.at_x(0) - 6
    named = all(width_of(moment) <= room for moment in spec.moments)
    every = 1 if named else max(1, round(26 / max(room, 1)))
    for number, moment in enumerate(spec.moments):
        if number % every == 0:
            at = (frame.at_x(number + 0.5), frame.bottom + 17)
            label = moment if named else str(number + 1)
            yield pen.text(at, label, colour=pen.ground.dim, anchor="middle")
    for phase, group in itertools.groupby(enumerate(spec.phases), key=lambda item: item[1]):
        if not phase:
            continue
        members = [number for number, _phase in group]
        left, right = frame.at_x(members[0]) + 3, frame.at_x(members[-1] + 1) - 3
        level = frame.bottom + 26
        yield pen.line((left, level), (right, level), pen.ground.line, 2)
        if width_of(phase) <= right - left:
            yield pen.text(
                ((left + right) / 2, level + 16), phase, colour=pen.ground.dim, anchor="middle"
            )


def _marks(pen: Pen, spec: StackSpec, frame: Frame) -> Iterator[str]:
    beyond = []
    for mark in spec.marks:
        at = frame.at_y(mark.value)
        if at < frame.top:
            beyond.append(mark.label)
            continue
        yield pen.line((frame.left, at), (frame.right, at), pen.ground.dim, 1, DASH)
        yield pen.text((frame.right - 4, at - 5), mark.label, colour=pen.ground.dim, anchor="end")
    if beyond:
        label = _("above: {marks}").format(marks=", ".join(beyond))
        start = frame.right - width_of(label)
        # Beside the title, or below it where that is long.
        level = 26.0 if start > width_of(spec.title, TITLE) + _TITLE_AT else frame.top - 3
        yield pen.text((frame.right, level), label, colour=pen.ground.dim, anchor="end")
