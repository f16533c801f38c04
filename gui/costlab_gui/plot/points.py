"""Measured points: filled markers with error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPixmap, QPolygonF

from costlab.figures.palette import style
from costlab.figures.spec import Axis, Series
from costlab_gui.plot.buffers import draw_bars, draw_pictures
from costlab_gui.plot.frame import Array, Frame, coordinates
from costlab_gui.plot.layer import Layer
from costlab_gui.theme.tokens import current

RADIUS = 4.5
_CAP = 3.0
_BAR = 1.4


class PointLayer(Layer):
    """Draws every series of kind "measured"."""

    def __init__(self) -> None:
        self._series: tuple[Series, ...] = ()
        self._coordinates: list[tuple[Array, Array, Array, Array]] = []

    def show_series(self, series: Sequence[Series], x_axis: Axis, y_axis: Axis) -> None:
        """Take new points."""
        self._series = tuple(series)
        self._coordinates = [
            (
                coordinates(one.x, x_axis),
                coordinates(one.y, y_axis),
                coordinates(one.low, y_axis),
                coordinates(one.high, y_axis),
            )
            for one in self._series
        ]

    @property
    def extent(self) -> tuple[Array, Array]:
        """View coordinates of everything drawn, bars included."""
        xs = [
            np.concatenate([x, x, x] if low.size else [x]) for x, _y, low, _h in self._coordinates
        ]
        ys = [np.concatenate([y, low, high]) for _x, y, low, high in self._coordinates]
        return (np.concatenate(xs), np.concatenate(ys)) if xs else (np.empty(0), np.empty(0))

    def draw(self, painter: QPainter, frame: Frame) -> None:
        ratio = painter.device().devicePixelRatioF()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for series, (x, y, low, high) in zip(self._series, self._coordinates, strict=True):
            colour = QColor(current().curve(series.colour))
            px, py = frame.x.pixels(x), frame.y.pixels(y)
            seen = (px > -RADIUS) & (px < frame.width + RADIUS)
            if low.size:
                reach = 2 * frame.height
                ends = (
                    np.clip(frame.y.pixels(values[seen]), -reach, reach) for values in (low, high)
                )
                draw_bars(painter, colour, _bars(px[seen], *ends))
            seen &= (py > -RADIUS) & (py < frame.height + RADIUS)
            if seen.any():
                picture = _picture(style(series.colour).marker, colour, ratio)
                draw_pictures(painter, picture, px[seen], py[seen])


def _bars(x: Array, low: Array, high: Array) -> Array:
    """Upright line, foot and top of every bar; those that their marker covers are left out."""
    shown = low - high > 2 * RADIUS
    x, low, high = x[shown], low[shown], high[shown]
    wide, thin = np.full(x.size, 2 * _CAP), np.full(x.size, _BAR)
    return np.concatenate(
        [
            np.column_stack([x, (low + high) / 2, thin, low - high]),
            np.column_stack([x, low, wide, thin]),
            np.column_stack([x, high, wide, thin]),
        ]
    )


def marker_path(marker: str, radius: float = RADIUS) -> QPainterPath:
    """Outline of a marker of the palette around 0, 0."""
    path = QPainterPath()
    if marker == "circle":
        path.addEllipse(QPointF(0, 0), radius, radius)
    elif marker == "square":
        path.addRect(QRectF(-0.86 * radius, -0.86 * radius, 1.72 * radius, 1.72 * radius))
    elif marker in ("cross", "plus"):
        path = _cross(radius, 45 if marker == "cross" else 0)
    else:
        corners = {"triangle": 3, "down": 3, "diamond": 4, "star": 10}[marker]
        path.addPolygon(_polygon(corners, radius * 1.15, down=marker == "down"))
        path.closeSubpath()
    return path


def _polygon(corners: int, radius: float, down: bool) -> QPolygonF:
    points = []
    for corner in range(corners):
        angle = 2 * math.pi * corner / corners + (math.pi if down else 0)
        reach = radius * (0.45 if corners == 10 and corner % 2 else 1)
        points.append(QPointF(reach * math.sin(angle), -reach * math.cos(angle)))
    return QPolygonF(points)


def _cross(radius: float, turn: float) -> QPainterPath:
    half = radius * 0.34
    upright, flat = QPainterPath(), QPainterPath()
    upright.addRect(QRectF(-half, -radius, 2 * half, 2 * radius))
    flat.addRect(QRectF(-radius, -half, 2 * radius, 2 * half))
    both = upright.united(flat)
    if not turn:
        return both
    share = math.sqrt(0.5)
    turned = QPainterPath()
    for index in range(both.elementCount()):
        element = both.elementAt(index)
        a, b = share * (element.x - element.y), share * (element.x + element.y)
        if index:
            turned.lineTo(a, b)
        else:
            turned.moveTo(a, b)
    turned.closeSubpath()
    return turned


_pictures: dict[tuple[str, str, str, float], QPixmap] = {}


def _picture(marker: str, colour: QColor, ratio: float) -> QPixmap:
    """A marker drawn once with a rim in the ground's colour, so that it stands out on its line."""
    ground = current().card
    key = (marker, colour.name(), ground, ratio)
    if key not in _pictures:
        side = 2 * (RADIUS + 2)
        picture = QPixmap(math.ceil(side * ratio), math.ceil(side * ratio))
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(picture.width() / ratio / 2, picture.height() / ratio / 2)
        painter.setPen(QPen(QColor(ground), 1.2))
        painter.setBrush(colour)
        painter.drawPath(marker_path(marker))
        painter.end()
        _pictures[key] = picture
    return _pictures[key]
