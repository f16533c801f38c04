"""The vertical line that is read off: where it is, and where it cuts the curves."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap

from costlab.figures.spec import MEASURED, Axis, Series
from costlab.units import format_value
from costlab_gui.plot.buffers import draw_parts
from costlab_gui.plot.frame import Frame, coordinate, from_view
from costlab_gui.plot.layer import Layer
from costlab_gui.theme.tokens import current

_DOT = 3.5
_REACH = 5.0  # half a side of the picture of a dot
_GAP = 8.0


class CrosshairLayer(Layer):
    """Draws the line at ``at``, a dot on every curve, and the chosen curve's value in words."""

    def __init__(self, font: QFont) -> None:
        self.use_font(font)
        self.at: float | None = None
        self.chosen: int | None = None
        self._series: tuple[Series, ...] = ()

    def use_font(self, font: QFont) -> None:
        self._font = font
        self._metrics = QFontMetricsF(font)

    def show_series(self, series: Sequence[Series]) -> None:
        """The curves that are cut."""
        self._series = tuple(series)

    def cuts(self, x_axis: Axis, y_axis: Axis) -> list[tuple[int, float]]:
        """Index of every curve that has a value at the line, and the value."""
        if self.at is None:
            return []
        found = []
        # Curves of programs that hold at the same sizes share the object of their x.
        places: dict[int, tuple[int, float] | None] = {}
        for index, series in enumerate(self._series):
            if series.kind == MEASURED:
                continue
            if id(series.x) not in places:
                places[id(series.x)] = _place(series.x, self.at, x_axis)
            place = places[id(series.x)]
            value = None if place is None else _value(series, *place, y_axis)
            if value is not None:
                found.append((index, value))
        return found

    def draw(self, painter: QPainter, frame: Frame) -> None:
        if self.at is None:
            return
        x = frame.place_x(self.at)
        if not 0 <= x <= frame.width:
            return
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        pen = QPen(QColor(theme.accent), 1)
        pen.setDashPattern([4.0, 3.0])
        painter.setPen(pen)
        painter.drawLine(QPointF(x, 0), QPointF(x, frame.height))
        ratio = painter.device().devicePixelRatioF()
        heights: list[float] = []
        colours: list[str] = []
        chosen: tuple[float, float] | None = None
        for index, value in self.cuts(frame.x_axis, frame.y_axis):
            series = self._series[index]
            y = frame.place_y(value)
            if series.faint or not -_DOT <= y <= frame.height + _DOT:
                continue
            heights.append(y)
            colours.append(theme.curve(series.colour))
            if index == self.chosen:
                chosen = y, value
        if heights:
            dots = _dots(tuple(colours), theme.card, ratio)
            draw_parts(painter, dots, np.full(len(heights), x), np.array(heights))
        if chosen is not None:
            y, value = chosen
            self._write(painter, frame, x, y, format_value(value, frame.y_axis.unit))

    def _write(self, painter: QPainter, frame: Frame, x: float, y: float, text: str) -> None:
        width = self._metrics.horizontalAdvance(text) + _GAP
        height = self._metrics.height()
        left = x + _GAP if x + _GAP + width <= frame.width else x - _GAP - width
        left = max(min(left, frame.width - width), 0.0)
        top = min(max(y + _GAP / 2, 0.0), frame.height - height)
        box = QRectF(left, top, width, height)
        ground = QColor(current().card)
        ground.setAlphaF(0.85)
        painter.fillRect(box, ground)
        painter.setFont(self._font)
        painter.setPen(QColor(current().text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


@lru_cache(maxsize=128)
def _dots(colours: tuple[str, ...], ground: str, ratio: float) -> QPixmap:
    """Dots side by side, each with a rim in the ground's colour so that it stands out on a line."""
    side = round(2 * _REACH * ratio)
    picture = QPixmap(side * len(colours), side)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(ground), 1))
    for number, colour in enumerate(colours):
        painter.setBrush(QColor(colour))
        painter.drawEllipse(QPointF(side / ratio * number + _REACH, _REACH), _DOT, _DOT)
    painter.end()
    return picture


def value_at(series: Series, at: float, x_axis: Axis, y_axis: Axis) -> float | None:
    """The value of a curve at ``at``, on the line that is drawn; None beside its ends."""
    place = _place(series.x, at, x_axis)
    return None if place is None else _value(series, *place, y_axis)


def _place(x: Sequence[float], at: float, axis: Axis) -> tuple[int, float] | None:
    """The first point at or after ``at``, and how far ``at`` lies on the way to it, 0 to 1.

    None beside the ends.
    """
    if not x or not x[0] <= at <= x[-1]:
        return None
    place = bisect_left(x, at)
    if x[place] == at:
        return place, 1.0
    x0, x1 = coordinate(x[place - 1], axis), coordinate(x[place], axis)
    return place, (coordinate(at, axis) - x0) / (x1 - x0)


def _value(series: Series, place: int, share: float, axis: Axis) -> float | None:
    """The value on the way from the point before ``place`` to the one there."""
    if share == 1.0:
        return series.y[place]
    y0, y1 = coordinate(series.y[place - 1], axis), coordinate(series.y[place], axis)
    value = from_view(y0 + share * (y1 - y0), axis)
    return value if math.isfinite(value) else None
