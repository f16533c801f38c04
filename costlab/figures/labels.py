"""Legends below a plot, and labels inside it that keep out of each other's way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from costlab.figures.frame import Frame
from costlab.figures.palette import style
from costlab.figures.pen import SMALL, Pen, Point, width_of
from costlab.figures.spec import FORMULA, MEASURED, PREDICTED

CELL, HATCHED = "cell", "hatched"
SURE, PALE = 0.85, 0.32
"""Opacity of a cell, and of a faint one."""
ROW = 22.0
_LEFT = 26.0
_SAMPLE = 30.0
_TRIES = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a legend; ``kind`` is that of a series, "cell" or "hatched" for areas."""

    name: str
    colour: int
    kind: str
    faint: bool = False


def rows_of(entries: Sequence[Entry], width: float) -> list[list[tuple[float, Entry]]]:
    """The entries with their positions, wrapped into rows."""
    rows: list[list[tuple[float, Entry]]] = []
    x = width
    for entry in entries:
        needed = _SAMPLE + 8 + width_of(entry.name) + 18
        if not rows or x + needed - 18 > width - 10:
            rows.append([])
            x = _LEFT
        rows[-1].append((x, entry))
        x += needed
    return rows


def legend_height(entries: Sequence[Entry], width: float) -> float:
    rows = len(rows_of(entries, width))
    return ROW * rows + 6 if rows else 0.0


def draw_legend(pen: Pen, entries: Sequence[Entry], size: Point) -> list[str]:
    """The legend at the foot of a picture of ``size``: dash and marker as they are drawn."""
    parts: list[str] = []
    top = size[1] - legend_height(entries, size[0])
    for number, row in enumerate(rows_of(entries, size[0])):
        y = top + ROW * number + 8
        for x, entry in row:
            parts += sample(pen, (x, y), entry)
            parts.append(pen.text((x + _SAMPLE + 8, y + 4), entry.name))
    return parts


def sample(pen: Pen, at: Point, entry: Entry) -> list[str]:
    """What an entry looks like, from ``at`` to the right."""
    x, y = at
    look = style(entry.colour)
    colour = pen.colour(entry.colour)
    if entry.kind == MEASURED:
        return [pen.marker((x + _SAMPLE / 2, y), look.marker, colour)]
    if entry.kind in (PREDICTED, FORMULA):
        width, opacity = (1.4, 0.55) if entry.faint else (2.2, 1)
        return [pen.path(f"M{x:.1f} {y:.1f}h{_SAMPLE:g}", colour, width, look.dash, opacity)]
    corner = (x + _SAMPLE - 16, y - 8)
    if entry.kind == CELL:
        return [pen.rect(corner, (16, 16), colour, PALE if entry.faint else SURE, 3)]
    strokes = "".join(
        f"M{corner[0] + dx:.1f} {corner[1] + dy:.1f}l{length:g} {-length:g}"
        for dx, dy, length in ((0, 8, 8), (0, 16, 16), (8, 16, 8))
    )
    return [
        pen.rect(corner, (16, 16), pen.ground.line, 0.6, 3),
        pen.path(strokes, pen.ground.dim, 1.2),
    ]


class Placer:
    """Puts texts beside points where nothing else stands."""

    def __init__(self, pen: Pen, frame: Frame) -> None:
        self._pen = pen
        self._frame = frame
        self._taken: list[tuple[float, float, float, float]] = []
        self._curves: list[Point] = []

    def keep_clear(self, at: Point, radius: float) -> None:
        """Keep later texts away from a point."""
        x, y = at
        self._taken.append((x - radius, y - radius, x + radius, y + radius))

    def avoid(self, points: Iterable[Point]) -> None:
        """Put texts where they cover few of these points, if there is a choice."""
        self._curves += points

    def place(
        self, at: Point, text: str, offset: float = 12, colour: str = "", tries: int = _TRIES
    ) -> list[str]:
        """``text`` near ``at`` where it covers least, on a pale ground.

        ``tries`` is how many rows away it may go; none free there, it stands beside the point.
        """
        found = self._find(at, text, offset, tries)
        if found is not None:
            return self.put(found, text, colour)
        width = width_of(text) + 6
        inside = min(max(at[0] + offset, self._frame.left), self._frame.right - width)
        return self.put((inside, max(at[1] - offset - SMALL - 5, self._frame.top)), text, colour)

    def place_near(self, at: Point, text: str, offset: float) -> list[str]:
        """``text`` right beside ``at``; nothing where that is taken."""
        found = self._find(at, text, offset, 1)
        return [] if found is None else self.put(found, text)

    def _find(self, at: Point, text: str, offset: float, tries: int) -> Point | None:
        width = width_of(text) + 6
        height = SMALL + 5.0
        x, y = at
        sides = (x - offset - width, x + offset)
        choices = [(side, y - height / 2) for side in sides]
        for away in range(tries):
            above, below = y - offset - height - away * height, y + offset + away * height
            choices += [(side, level) for level in (above, below) for side in sides]
        free = [c for c in choices if self._free(c, width, height)]

        def cost(corner: Point) -> float:
            return self._covered(corner, width, height) + abs(corner[1] - y) / height

        return min(free, key=cost, default=None)

    def along(self, level: float, text: str, colour: str = "") -> list[str]:
        """``text`` on a horizontal line, at the right end where there is room."""
        width, height = width_of(text) + 6, SMALL + 5.0
        room = self._frame.right - self._frame.left - width - 8
        choices = [
            (self._frame.right - 4 - width - share * max(room, 0), level + shift)
            for share in (0, 0.25, 0.5, 0.75, 1)
            for shift in (-height - 1, 1)
        ]
        free = [c for c in choices if self._free(c, width, height)] or choices[:1]
        return self.put(min(free, key=lambda c: self._covered(c, width, height)), text, colour)

    def put(self, corner: Point, text: str, colour: str = "") -> list[str]:
        """``text`` with its upper left corner at ``corner``."""
        width, height = width_of(text) + 6, SMALL + 5.0
        self._taken.append((*corner, corner[0] + width, corner[1] + height))
        return [
            self._pen.rect(corner, (width, height), self._pen.ground.surface, 0.8, 3),
            self._pen.text((corner[0] + 3, corner[1] + SMALL + 0.5), text, colour=colour),
        ]

    def _covered(self, corner: Point, width: float, height: float) -> int:
        x, y = corner
        return sum(x <= a <= x + width and y <= b <= y + height for a, b in self._curves)

    def _free(self, corner: Point, width: float, height: float) -> bool:
        x, y = corner
        frame = self._frame
        inside = (
            frame.left <= x and x + width <= frame.right and frame.top <= y
            and y + height <= frame.bottom
        )  # fmt: skip
        return inside and all(
            x >= right or x + width <= left or y >= bottom or y + height <= top
            for left, top, right, bottom in self._taken
        )
