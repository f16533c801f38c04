"""Where values lie in a picture: the plot area with its scales, ticks and axis labels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from costlab.figures.pen import SMALL, TITLE, Pen, Point, width_of
from costlab.figures.scale import Scale

WIDTH, HEIGHT = 760.0, 430.0
TOP, RIGHT, BOTTOM = 44.0, 24.0, 56.0
_LABEL = 26.0


@dataclass(frozen=True, slots=True)
class Frame:
    """The plot area in user units of the picture, y downwards."""

    x: Scale
    y: Scale
    left: float
    top: float
    right: float
    bottom: float

    def at_x(self, value: float) -> float:
        return self.left + self.x.position(value) * (self.right - self.left)

    def at_y(self, value: float) -> float:
        return self.bottom - self.y.position(value) * (self.bottom - self.top)

    def at(self, x: float, y: float) -> Point:
        return self.at_x(x), self.at_y(y)

    def value_x(self, at: float) -> float:
        """The value at a horizontal position."""
        return self.x.value((at - self.left) / (self.right - self.left))

    def value_y(self, at: float) -> float:
        """The value at a vertical position."""
        return self.y.value((self.bottom - at) / (self.bottom - self.top))

    def holds(self, at: Point, air: float = 0.5) -> bool:
        """Whether a position lies in the plot area."""
        return (
            self.left - air <= at[0] <= self.right + air
            and self.top - air <= at[1] <= self.bottom + air
        )


def frame_of(x: Scale, y: Scale, size: Point, foot: float) -> Frame:
    """The plot area of a picture.

    Args:
        x: horizontal scale.
        y: vertical scale; its tick labels set the left margin.
        size: width and height of the whole picture.
        foot: what stands below the axis label (the legend), in height.
    """
    widest = max((width_of(label) for _value, label in y.ticks()), default=0.0)
    left = _LABEL + widest + 15
    return Frame(x, y, left, TOP, size[0] - RIGHT, size[1] - foot - BOTTOM)


def draw_title(pen: Pen, title: str) -> str:
    return pen.text((_LABEL - 12, 26), title, size=TITLE, bold=True)


def draw_y_axis(pen: Pen, frame: Frame) -> list[str]:
    """Grid lines, tick labels and the label of the y axis."""
    parts = []
    ground = pen.ground
    for value, label in frame.y.ticks():
        at = frame.at_y(value)
        parts.append(pen.line((frame.left, at), (frame.right, at), ground.grid))
        parts.append(pen.text((frame.left - 9, at + 4), label, colour=ground.dim, anchor="end"))
    parts.append(pen.line((frame.left, frame.top), (frame.left, frame.bottom), ground.line))
    middle = (frame.top + frame.bottom) / 2
    parts.append(
        pen.text(
            (_LABEL - 6, middle), frame.y.axis.label, colour=ground.dim, anchor="middle",
            turned=True,
        )
    )  # fmt: skip
    return parts


def draw_x_axis(pen: Pen, frame: Frame) -> list[str]:
    """Grid lines, tick labels and the label of the x axis."""
    parts = []
    ground = pen.ground
    free = frame.left - 40.0
    for value, label in frame.x.ticks():
        at = frame.at_x(value)
        parts.append(pen.line((at, frame.top), (at, frame.bottom), ground.grid))
        half = width_of(label) / 2
        if at - half >= free:
            parts.append(
                pen.text((at, frame.bottom + 19), label, colour=ground.dim, anchor="middle")
            )
            free = at + half + SMALL / 2
    parts.append(pen.line((frame.left, frame.bottom), (frame.right, frame.bottom), ground.line))
    middle = (frame.left + frame.right) / 2
    parts.append(
        pen.text((middle, frame.bottom + 41), frame.x.axis.label, colour=ground.dim,
                 anchor="middle")
    )  # fmt: skip
    return parts


def clip_line(points: Sequence[Point], frame: Frame) -> list[list[Point]]:
    """The pieces of a broken line that lie in the plot area."""
    pieces: list[list[Point]] = []
    for start, end in itertools.pairwise(points):
        part = _clip_segment(start, end, frame)
        if part is None:
            continue
        if pieces and pieces[-1][-1] == part[0]:
            pieces[-1].append(part[1])
        else:
            pieces.append([part[0], part[1]])
    if len(points) == 1 and frame.holds(points[0]):
        return [list(points)]
    return pieces


def _clip_segment(start: Point, end: Point, frame: Frame) -> tuple[Point, Point] | None:
    """Liang and Barsky: the part of a segment inside, None where there is none."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    first, last = 0.0, 1.0
    for along, room in (
        (-dx, start[0] - frame.left), (dx, frame.right - start[0]),
        (-dy, start[1] - frame.top), (dy, frame.bottom - start[1]),
    ):  # fmt: skip
        if along == 0:
            if room < 0:
                return None
        elif along < 0:
            first = max(first, room / along)
        else:
            last = min(last, room / along)
    if first > last:
        return None
    begin = start if first == 0 else (start[0] + first * dx, start[1] + first * dy)
    finish = end if last == 1 else (start[0] + last * dx, start[1] + last * dy)
    return begin, finish


def clip_area(points: Sequence[Point], frame: Frame) -> list[Point]:
    """Sutherland and Hodgman: the part of an area inside the plot area; empty where none is."""
    found = list(points)
    for axis, limit, sign in (
        (0, frame.left, 1), (0, frame.right, -1), (1, frame.top, 1), (1, frame.bottom, -1)
    ):  # fmt: skip
        inside = [sign * (point[axis] - limit) >= 0 for point in found]
        clipped: list[Point] = []
        for index, point in enumerate(found):
            before = found[index - 1]
            if inside[index] != inside[index - 1]:
                share = (limit - before[axis]) / (point[axis] - before[axis])
                clipped.append(
                    (
                        before[0] + share * (point[0] - before[0]),
                        before[1] + share * (point[1] - before[1]),
                    )
                )
            if inside[index]:
                clipped.append(point)
        found = clipped
    return found
