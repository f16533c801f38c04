"""Arrays of numbers handed to the painter as they are, without an object for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QLineF
from PySide6.QtGui import QPainter, QPixmap
from shiboken6 import Shiboken

from costlab_gui.plot.frame import Array


def draw_lines(painter: QPainter, rows: Array) -> None:
    """Draw line segments with the painter's pen.

    Args:
        painter: where.
        rows: ``x0, y0, x1, y1`` of each segment, of shape (count, 4).
    """
    if len(rows):
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        draw: Any = painter.drawLines  # its stub knows no array
        draw(_first(rows, QLineF), len(rows))


def draw_pictures(painter: QPainter, picture: QPixmap, x: Array, y: Array) -> None:
    """Draw ``picture`` with its middle at every x, y (logical pixels)."""
    if not x.size:
        return
    rows = np.empty((x.size, 10))
    rows[:, 0], rows[:, 1] = x, y
    rows[:, 2:4] = 0.0  # from the picture's corner
    rows[:, 4], rows[:, 5] = picture.width(), picture.height()
    rows[:, 6:8] = 1.0 / picture.devicePixelRatio()
    rows[:, 8], rows[:, 9] = 0.0, 1.0  # not turned, opaque
    draw: Any = painter.drawPixmapFragments  # its stub knows one fragment alone
    draw(_first(rows, QPainter.PixmapFragment), len(rows), picture)


def _first(rows: Array, kind: type) -> Any:
    """The first of the C++ objects, made of doubles alone, that the memory of ``rows`` is."""
    return Shiboken.wrapInstance(rows.ctypes.data, kind)
