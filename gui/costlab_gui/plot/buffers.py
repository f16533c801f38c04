"""Arrays of numbers handed to the painter as they are, without an object for each."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from PySide6.QtGui import QColor, QPainter, QPixmap, QPolygonF
from shiboken6 import Shiboken

from costlab_gui.plot.frame import Array

_DOUBLE = 8
_FIELDS = 10  # of a fragment: x, y, corner and size in the picture, scales, turn, opacity


def polygon(x: Array, y: Array) -> QPolygonF:
    """The points with these coordinates."""
    found = QPolygonF()
    if x.size:
        found.resize(x.size)
        # Its stub knows neither the size nor that the memory can be written.
        pointer: Any = Shiboken.VoidPtr
        points = np.frombuffer(pointer(found.data(), 2 * x.size * _DOUBLE, True)).reshape(-1, 2)
        points[:, 0], points[:, 1] = x, y
    return found


def draw_pictures(painter: QPainter, picture: QPixmap, x: Array, y: Array) -> None:
    """Draw ``picture`` with its middle at every x, y (logical pixels)."""
    scale = 1.0 / picture.devicePixelRatio()
    _draw(painter, picture, x, y, picture.width(), picture.height(), scale, scale)


def draw_parts(painter: QPainter, pictures: QPixmap, x: Array, y: Array) -> None:
    """Draw squares that stand side by side in ``pictures``, one with its middle at each x, y."""
    side = pictures.height()
    scale = 1.0 / pictures.devicePixelRatio()
    _draw(painter, pictures, x, y, side, side, scale, scale, left=side * np.arange(x.size))


def draw_bars(painter: QPainter, colour: QColor, boxes: Array) -> None:
    """Fill rectangles, one row ``middle x, middle y, width, height`` each."""
    x, y, width, height = boxes.T
    _draw(painter, _dot(colour.rgba()), x, y, 1.0, 1.0, width, height)


def _draw(
    painter: QPainter, picture: QPixmap, x: Array, y: Array, *more: Any, left: Any = 0.0
) -> None:
    """Draw parts of a picture that begin at ``left``; ``more`` is their size and both scales."""
    if not x.size:
        return
    rows = np.zeros((x.size, _FIELDS))
    rows[:, 0], rows[:, 1] = x, y
    for field, values in zip((4, 5, 6, 7), more, strict=True):
        rows[:, field] = values
    rows[:, 2], rows[:, 9] = left, 1.0
    first = Shiboken.wrapInstance(rows.ctypes.data, QPainter.PixmapFragment)
    draw: Any = painter.drawPixmapFragments  # its stub knows one fragment alone
    draw(first, len(rows), picture)


@lru_cache(maxsize=64)
def _dot(colour: int) -> QPixmap:
    found = QPixmap(1, 1)
    found.fill(QColor.fromRgba(colour))
    return found
