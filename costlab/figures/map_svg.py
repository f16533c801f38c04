"""Draws a winner map as SVG: coloured by who wins, hatched where too close to tell."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence

from costlab.figures.frame import HEIGHT, WIDTH, Frame, draw_title, draw_x_axis, draw_y_axis
from costlab.figures.frame import frame_of as _frame_of
from costlab.figures.labels import CELL, HATCHED, PALE, SURE, Entry, draw_legend, legend_height
from costlab.figures.pen import Pen, Point
from costlab.figures.scale import Scale
from costlab.figures.spec import LOG, Axis, MapSpec
from costlab.i18n import _

UNDECIDED, NOBODY = -1, -2
CROSS = 9.0
"""Half the length of the cross at the present sizes."""
_HATCH = 8.0  # distance of the strokes along an axis


def map_frame(spec: MapSpec, size: Point | None = None) -> Frame:
    """Where values lie in :func:`map_svg` of the same size."""
    size = size or _size(spec)
    x, y = _scale(spec.x, spec.x_values), _scale(spec.y, spec.y_values)
    return _frame_of(x, y, size, legend_height(_entries(spec), size[0]))


def map_svg(
    spec: MapSpec, *, theme: str = "light", ground: bool = True, size: Point | None = None
) -> str:
    """SVG of a winner map; see :func:`costlab.figures.svg.figure_svg` for the arguments."""
    size = size or _size(spec)
    pen = Pen(theme)
    frame = map_frame(spec, size)
    columns, rows = _edges(frame, spec)
    parts = [draw_title(pen, spec.title), *draw_x_axis(pen, frame), *draw_y_axis(pen, frame)]
    areas: dict[tuple[int, float], list[str]] = {}
    for row, start, end, cell, best in _runs(spec):
        shown = best if cell == UNDECIDED else cell
        if shown < 0:
            continue
        size_x, size_y = columns[end] - columns[start], rows[row + 1] - rows[row]
        areas.setdefault((shown, PALE if cell == UNDECIDED else SURE), []).append(
            f"M{columns[start]:.2f} {rows[row]:.2f}h{size_x:.2f}v{size_y:.2f}h{-size_x:.2f}z"
        )
    for (shown, opacity), outlines in areas.items():
        parts.append(pen.area("".join(outlines), pen.colour(spec.colour(shown)), opacity))
    strokes = "".join(_hatching(spec, frame, columns, rows))
    if strokes:
        parts.append(pen.hatching(strokes, pen.ground.dim))
    if spec.here is not None:
        parts += _cross(pen, frame.at(*spec.here), frame)
    parts += draw_legend(pen, _entries(spec), size)
    return pen.document(parts, size, spec.title, spec.caption, ground)


def cell_at(spec: MapSpec, x: float, y: float) -> tuple[int, int] | None:
    """Row and column of the cell around the sizes (x, y); None outside the map."""
    found = []
    for axis, values, wanted in ((spec.y, spec.y_values, y), (spec.x, spec.x_values, x)):
        scale = _scale(axis, values)
        if not scale.low <= wanted <= scale.high:
            return None
        distances = [abs(scale.position(value) - scale.position(wanted)) for value in values]
        found.append(distances.index(min(distances)))
    return found[0], found[1]


def _size(spec: MapSpec) -> Point:
    return WIDTH, HEIGHT + legend_height(_entries(spec), WIDTH)


def _entries(spec: MapSpec) -> list[Entry]:
    used = {cell for row in (*spec.cells, *spec.best) for cell in row}
    entries = [
        Entry(name, spec.colour(index), CELL)
        for index, name in enumerate(spec.names)
        if index in used
    ]
    if UNDECIDED in used:
        entries.append(Entry(_("hatched: too close to tell"), 0, HATCHED))
    return entries


def _scale(axis: Axis, values: Sequence[float]) -> Scale:
    """A scale whose ends are the outer edges of the first and the last cell."""
    if axis.scale == LOG:
        half = math.sqrt(values[1] / values[0]) if len(values) > 1 else math.sqrt(2)
        last = math.sqrt(values[-1] / values[-2]) if len(values) > 1 else half
        return Scale(axis, values[0] / half, values[-1] * last)
    step = (values[1] - values[0]) / 2 if len(values) > 1 else 0.5
    last = (values[-1] - values[-2]) / 2 if len(values) > 1 else 0.5
    return Scale(axis, values[0] - step, values[-1] + last)


def _edges(frame: Frame, spec: MapSpec) -> tuple[list[float], list[float]]:
    """Positions of the edges between columns, and between rows from the bottom up."""

    def between(values: Sequence[float], log: bool) -> list[float]:
        pairs = itertools.pairwise(values)
        return [math.sqrt(a * b) if log else (a + b) / 2 for a, b in pairs]

    columns = [frame.at_x(v) for v in between(spec.x_values, spec.x.scale == LOG)]
    rows = [frame.at_y(v) for v in between(spec.y_values, spec.y.scale == LOG)]
    return [frame.left, *columns, frame.right], [frame.bottom, *rows, frame.top]


def _runs(spec: MapSpec) -> Iterator[tuple[int, int, int, int, int]]:
    """Equal neighbours of a row as (row, first column, end, cell, best)."""
    for row, cells in enumerate(spec.cells):
        best = spec.best[row] if spec.best else cells
        start = 0
        for column in range(1, len(cells) + 1):
            if (
                column < len(cells)
                and cells[column] == cells[start]
                and best[column] == best[start]
            ):
                continue
            yield row, start, column, cells[start], best[start]
            start = column


def _hatching(
    spec: MapSpec, frame: Frame, columns: Sequence[float], rows: Sequence[float]
) -> Iterator[str]:
    """Strokes rising to the right over undecided cells; each as long as the cells allow.

    A pattern would be shorter, but not every viewer draws one.
    """
    if not any(UNDECIDED in cells for cells in spec.cells):
        return
    low = frame.left + frame.top
    upwards = [-edge for edge in rows]
    count = int((frame.right + frame.bottom - low) / _HATCH) + 1
    for number in range(1, count):
        # On one stroke x + y is constant.
        level = low + number * _HATCH
        ends = sorted(
            {
                *(x for x in columns if frame.top <= level - x <= frame.bottom),
                *(level - y for y in rows if frame.left <= level - y <= frame.right),
            }
        )
        start: float | None = None
        column = 0
        for left, right in itertools.pairwise(ends):
            middle = (left + right) / 2
            while columns[column + 1] < middle:
                column += 1
            row = bisect.bisect(upwards, middle - level) - 1
            if spec.cells[row][column] == UNDECIDED:
                start = left if start is None else start
            elif start is not None:
                yield _stroke(start, left, level)
                start = None
        if start is not None:
            yield _stroke(start, ends[-1], level)


def _stroke(start: float, end: float, level: float) -> str:
    return f"M{start:.1f} {level - start:.1f}L{end:.1f} {level - end:.1f}"


def _cross(pen: Pen, at: Point, frame: Frame) -> list[str]:
    """A cross with a pale edge, seen on every colour; nothing outside."""
    if not frame.holds(at):
        return []
    x, y = at
    strokes = f"M{x - CROSS:.1f} {y:.1f}h{2 * CROSS:g}M{x:.1f} {y - CROSS:.1f}v{2 * CROSS:g}"
    return [pen.path(strokes, pen.ground.surface, 5), pen.path(strokes, pen.ground.text, 2)]
