"""A short piece of a curve, as legends and tables show it."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QLineF, QRect, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap

from costlab.figures.palette import style
from costlab_gui.plot.lines import curve_pen
from costlab_gui.plot.points import marker_path
from costlab_gui.theme.tokens import Theme, current


def draw_sample(painter: QPainter, box: QRect, colour: int, marker: bool = False) -> None:
    """Paint the line of a series by its ``colour`` index, with its marker if wanted."""
    theme = current()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(curve_pen(colour, QColor(theme.curve(colour))))
    middle = box.top() + box.height() / 2
    painter.drawLine(QLineF(box.left(), middle, box.right() + 1.0, middle))
    if marker:
        painter.translate(box.left() + box.width() / 2, middle)
        painter.setPen(QPen(QColor(theme.card), 1))
        painter.setBrush(QColor(theme.curve(colour)))
        painter.drawPath(marker_path(style(colour).marker, box.height() * 0.28))
    painter.restore()


def sample_icon(colour: int, width: int, height: int, ratio: float, faint: bool = False) -> QIcon:
    """The sample with its marker as an icon of ``width`` x ``height`` logical pixels."""
    return QIcon(_picture(colour, width, height, ratio, True, faint, current()))


def paint_sample(painter: QPainter, box: QRect, colour: int) -> None:
    """As :func:`draw_sample` without a marker, from a picture that is kept."""
    ratio = painter.device().devicePixelRatioF()
    picture = _picture(colour, box.width(), box.height(), ratio, False, False, current())
    painter.drawPixmap(box.topLeft(), picture)


@lru_cache(maxsize=256)
def _picture(
    colour: int, width: int, height: int, ratio: float, marker: bool, faint: bool, theme: Theme
) -> QPixmap:
    picture = QPixmap(round(width * ratio), round(height * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setOpacity(0.35 if faint else 1.0)
    draw_sample(painter, QRect(0, 0, width, height), colour, marker)
    painter.end()
    return picture
