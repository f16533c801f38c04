"""The lines of the grid, barely visible."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QLineF
from PySide6.QtGui import QColor, QPainter, QPen

from costlab_gui.theme.tokens import current


def draw_grid(
    painter: QPainter,
    width: float,
    height: float,
    along_x: Sequence[float] = (),
    along_y: Sequence[float] = (),
) -> None:
    """Draw a line at every tick, given in pixels of a box of ``width`` by ``height``."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(QPen(QColor(current().grid), 1))
    lines = [QLineF(x, 0, x, height) for x in along_x]
    lines += [QLineF(0, y, width, y) for y in along_y]
    painter.drawLines(lines)
