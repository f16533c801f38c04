"""The lines of the grid, barely visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QLineF
from PySide6.QtGui import QColor, QPainter, QPen

from costlab_gui.plot.frame import Frame
from costlab_gui.plot.layer import Layer
from costlab_gui.theme.tokens import current

# Pixels of the grid lines along the x and the y axis.
Places = Callable[[], tuple[Sequence[float], Sequence[float]]]


class GridLayer(Layer):
    """Draws a line at every tick."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def draw(self, painter: QPainter, frame: Frame) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(QColor(current().grid), 1))
        along_x, along_y = self._places()
        lines = [QLineF(x, 0, x, frame.height) for x in along_x]
        lines += [QLineF(0, y, frame.width, y) for y in along_y]
        painter.drawLines(lines)
