"""The sample of a curve: colour, dash and marker together."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from costlab.figures.palette import style
from costlab_gui.plot.lines import curve_pen
from costlab_gui.plot.points import marker_path
from costlab_gui.theme.tokens import current

_PALE = 0.4


def draw_chip(painter: QPainter, room: QRectF, index: int, faint: bool = False) -> None:
    """Draw the sample of the curve ``index`` (of the palette) across ``room``."""
    look = style(index)
    colour = QColor(current().curve(index))
    middle = room.center().y()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if faint:
        painter.setOpacity(_PALE)
    painter.setPen(curve_pen(index, colour))
    painter.drawLine(QPointF(room.left(), middle), QPointF(room.right(), middle))
    painter.setPen(QPen(QColor(current().card), 1.0))
    painter.setBrush(colour)
    painter.translate(QPointF(room.center().x(), middle))
    painter.drawPath(marker_path(look.marker, room.height() * 0.26))
    painter.restore()
