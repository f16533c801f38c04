"""The curves of a plot and their bands, all in one item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from costlab.figures.numbers import as_array
from costlab.figures.palette import PATTERNS, style
from costlab.figures.spec import Axis, Series
from costlab_gui.plot.buffers import polygon
from costlab_gui.plot.clipping import visible, within
from costlab_gui.plot.frame import Array, Frame, coordinates, to_view
from costlab_gui.plot.layer import Layer
from costlab_gui.plot.thinning import thin
from costlab_gui.theme.tokens import current

_WIDTH, _FAINT_WIDTH, _CHOSEN_WIDTH = 2.0, 1.2, 3.0
_BAND_ALPHA = 0.15
_FAINT = 0.55


def curve_pen(index: int, colour: QColor, width: float = _WIDTH) -> QPen:
    """The pen of a palette index: its pattern of dashes in pixels, whatever the width."""
    pen = QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
    pattern = PATTERNS.get(style(index).dash)
    if pattern is None:
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    else:
        pen.setDashPattern([length / width for length in pattern])
    return pen


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Pieces of every line and the outline of every band in pixels, by index of the series."""

    frame: Frame
    lines: list[tuple[int, QPolygonF]]
    bands: list[tuple[int, QPolygonF]]


class LineLayer(Layer):
    """Draws every series of kind "predicted" or "formula"."""

    def __init__(self) -> None:
        self.antialias = True
        self.chosen: int | None = None
        self._series: tuple[Series, ...] = ()
        self._x = self._y = np.empty(0)
        # Of every line in the arrays: where it starts and ends, and its series. The curve comes
        # first, then the lower and the upper edge of its band.
        self._runs: list[tuple[int, int, int]] = []
        self._ends = np.empty(0, dtype=np.intp)
        self._fixed = np.empty(0, dtype=bool)
        self._cached: _Shapes | None = None

    def show_series(self, series: Sequence[Series], x_axis: Axis, y_axis: Axis) -> None:
        """Take new curves."""
        self._series = tuple(series)
        xs: list[Array] = []
        ys: list[Array] = []
        at = 0
        self._runs = []
        for index, one in enumerate(self._series):
            x = coordinates(one.x, x_axis)
            for values in (one.y, one.low, one.high):
                if values:
                    self._runs.append((at, at + len(values), index))
                    at += len(values)
                    xs.append(x)
                    ys.append(as_array(values))
        self._x = np.concatenate(xs) if xs else np.empty(0)
        self._y = to_view(np.concatenate(ys), y_axis) if ys else np.empty(0)
        self._ends = np.array([end for run in self._runs for end in run[:2]], dtype=np.intp)
        self._fixed = _fixed(self._ends, self._x.size)
        self._cached = None

    @property
    def extent(self) -> tuple[Array, Array]:
        """View coordinates of everything drawn."""
        return self._x, self._y

    def draw(self, painter: QPainter, frame: Frame) -> None:
        if self._cached is None or self._cached.frame != frame:
            self._cached = self._shapes(frame)
        lines, bands = self._cached.lines, self._cached.bands
        theme = current()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for index, outline in bands:
            colour = QColor(theme.curve(self._series[index].colour))
            colour.setAlphaF(_BAND_ALPHA)
            painter.setBrush(colour)
            painter.drawPolygon(outline)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, self.antialias)
        # Faint lines first, the chosen one last: it lies on top.
        order = sorted(
            lines, key=lambda line: (line[0] == self.chosen, not self._series[line[0]].faint)
        )
        for index, points in order:
            painter.setPen(self._pen(index))
            painter.drawPolyline(points)

    def _pen(self, index: int) -> QPen:
        series, theme = self._series[index], current()
        width = _CHOSEN_WIDTH if index == self.chosen else _WIDTH
        return _pen(series.colour, theme.curve(series.colour), theme.card, width, series.faint)

    def _shapes(self, frame: Frame) -> _Shapes:
        px, py = frame.x.pixels(self._x), frame.y.pixels(self._y)
        ends, fixed = self._ends, self._fixed
        if not px.size:
            return _Shapes(frame, [], [])
        if px.min() < -1.0 or px.max() > frame.width + 1.0:
            wanted, ends = self._visible(px, frame.width)
            px, py = px[wanted], py[wanted]
            fixed = _fixed(ends, px.size)
        kept = thin(px, py, fixed)
        px, py = px[kept], py[kept]
        reach = 50 * max(frame.width, frame.height)
        whole = within(px, py, frame.width, frame.height)
        lines: list[tuple[int, QPolygonF]] = []
        edges: dict[int, list[tuple[Array, Array]]] = {}
        curves: set[int] = set()
        bounds = np.searchsorted(kept, ends).tolist()
        for low, high, (_a, _b, index) in zip(bounds[::2], bounds[1::2], self._runs, strict=True):
            x, y = px[low:high], py[low:high]
            if index not in curves:
                curves.add(index)
                pieces = [(x, y)] if whole else visible(x, y, frame.width, frame.height)
                lines += [(index, polygon(*piece)) for piece in pieces]
            else:
                edge = (np.clip(x, -reach, reach), np.clip(y, -reach, reach))
                edges.setdefault(index, []).append(edge)
        bands = [
            (index, _outline(*pair)) for index, pair in edges.items() if len(pair) == 2
        ]  # fmt: skip
        return _Shapes(frame, lines, bands)

    def _visible(self, px: Array, width: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Indices of the points in view with one more at either end, and the new runs' ends."""
        parts, ends, at = [], [], 0
        for start, stop, _index in self._runs:
            own = px[start:stop]
            low = max(int(np.searchsorted(own, 0.0)) - 1, 0)
            high = min(int(np.searchsorted(own, width, side="right")) + 1, stop - start)
            high = max(high, low + 1)
            parts.append(np.arange(start + low, start + high))
            ends += [at, at + high - low]
            at += high - low
        return np.concatenate(parts), np.array(ends)


def _fixed(ends: NDArray[np.intp], size: int) -> NDArray[np.bool_]:
    """The first and the last point of every run."""
    found = np.zeros(size, dtype=bool)
    found[ends[::2]] = found[ends[1::2] - 1] = True
    return found


@lru_cache(maxsize=256)
def _pen(index: int, colour: str, ground: str, width: float, faint: bool) -> QPen:
    if faint:
        return curve_pen(index, _mixed(QColor(colour), QColor(ground), _FAINT), _FAINT_WIDTH)
    return curve_pen(index, QColor(colour), width)


def _outline(low: tuple[Array, Array], high: tuple[Array, Array]) -> QPolygonF:
    return polygon(np.concatenate([low[0], high[0][::-1]]), np.concatenate([low[1], high[1][::-1]]))


def _mixed(colour: QColor, ground: QColor, share: float) -> QColor:
    """``share`` of ``colour`` over ``ground``: opaque, so that segments do not add up."""

    def part(a: float, b: float) -> float:
        return share * a + (1 - share) * b

    return QColor.fromRgbF(
        part(colour.redF(), ground.redF()),
        part(colour.greenF(), ground.greenF()),
        part(colour.blueF(), ground.blueF()),
    )
