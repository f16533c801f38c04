"""A short piece of a curve, as legends and tables show it."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QLineF, QRect, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap

from costlab.figures.palette import style
from costlab_gui.plot.dashes import cut
from costlab_gui.plot.points import marker_path
from costlab_gui.theme.tokens import current


def draw_sample(painter: QPainter, box: QRect, colour: int, marker: bool = False) -> None:
    """Paint the line of a series by its ``colour`` index, with its marker if wanted."""
    theme = current()
    pen = QPen(QColor(theme.curve(colour)), 2)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    middle = box.top() + box.height() / 2
    rows = np.array([[box.left(), middle, box.right() + 1.0, middle]])
    painter.drawLines([QLineF(*row) for row in cut(rows, style(colour).dash).tolist()])
    if marker:
        painter.translate(box.left() + box.width() / 2, middle)
        painter.setPen(QPen(QColor(theme.card), 1))
        painter.setBrush(QColor(theme.curve(colour)))
        painter.drawPath(marker_path(style(colour).marker, box.height() * 0.28))
    painter.restore()


def sample_icon(colour: int, width: int, height: int, ratio: float, faint: bool = False) -> QIcon:
    """The sample as an icon of ``width`` x ``height`` logical pixels."""
    picture = QPixmap(round(width * ratio), round(height * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setOpacity(0.35 if faint else 1.0)
    draw_sample(painter, QRect(0, 0, width, height), colour, marker=True)
    painter.end()
    return QIcon(picture)
