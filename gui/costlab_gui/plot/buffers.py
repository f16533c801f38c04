"""Arrays of numbers handed to the painter as they are, without an object for each."""

from __future__ import annotations

from typing import Any

from pyqtgraph.Qt.internals import PrimitiveArray
from PySide6.QtCore import QLineF
from PySide6.QtGui import QPainter, QPixmap

from costlab_gui.plot.frame import Array


class LineBuffer:
    """Line segments, one row ``x0, y0, x1, y1`` each."""

    def __init__(self, rows: Array) -> None:
        self._buffer = PrimitiveArray(QLineF, 4)
        self._buffer.resize(len(rows))
        self._buffer.ndarray()[:] = rows

    def draw(self, painter: QPainter) -> None:
        """Draw the segments with the painter's pen."""
        if len(self._buffer):
            painter.drawLines(*self._buffer.drawargs())


def draw_pictures(painter: QPainter, picture: QPixmap, x: Array, y: Array) -> None:
    """Draw ``picture`` with its middle at every x, y (logical pixels)."""
    if not x.size:
        return
    buffer = PrimitiveArray(QPainter.PixmapFragment, 10)
    buffer.resize(x.size)
    rows = buffer.ndarray()
    rows[:, 0], rows[:, 1] = x, y
    rows[:, 2:4] = 0.0  # from the picture's corner
    rows[:, 4], rows[:, 5] = picture.width(), picture.height()
    rows[:, 6:8] = 1.0 / picture.devicePixelRatio()
    rows[:, 8], rows[:, 9] = 0.0, 1.0  # not turned, opaque
    draw: Any = painter.drawPixmapFragments  # its stub knows one fragment alone
    draw(*buffer.drawargs(), picture)
