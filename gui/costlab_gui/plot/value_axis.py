"""An axis of a plot: labels with units, without a line and without tick marks."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import (
    QGraphicsSceneMouseEvent,
    QGraphicsSceneWheelEvent,
    QGraphicsWidget,
    QStyleOptionGraphicsItem,
    QWidget,
)

from costlab.figures.spec import Axis
from costlab.figures.ticks import Tick, ticks
from costlab_gui.plot.frame import Span, from_view, to_view
from costlab_gui.theme.tokens import current

_GAP = 6.0


class ValueAxis(QGraphicsWidget):
    """Shows the ticks of one axis beside (``vertical``) or below the view.

    Signals:
        chosen: pixel along the axis of a double click.
        turned: a wheel event over the axis.
    """

    chosen = Signal(float)
    turned = Signal(object)

    def __init__(self, axis: Axis, vertical: bool, font: QFont) -> None:
        super().__init__()
        self._axis = axis
        self._vertical = vertical
        self._span: Span | None = None
        self._ticks: list[Tick] = []
        self._pixels: list[float] = []
        self._widest = 0.0
        self.use_font(font)

    def use_font(self, font: QFont) -> None:
        """Write in ``font`` and take the room that this needs."""
        self._font = font
        self._metrics = QFontMetricsF(font)
        self._widest = 0.0
        self._fit()

    def show_axis(self, axis: Axis) -> None:
        """Be another axis."""
        if axis != self._axis:
            self._axis = axis
            self._widest = 0.0
            self._span = None

    def show_span(self, span: Span) -> None:
        """The view shows this range now."""
        if span == self._span:
            return
        self._span = span
        low, high = from_view(span.low, self._axis), from_view(span.high, self._axis)
        if self._vertical:
            most = abs(span.length) / (2.6 * self._metrics.height())
        else:
            most = abs(span.length) / self._metrics.horizontalAdvance("000000000")
        self._ticks = ticks(self._axis, low, high, int(most)) if low < high else []
        values = [tick.value for tick in self._ticks]
        self._pixels = span.pixels(to_view(values, self._axis)).tolist() if values else []
        self._fit()

    def mouseDoubleClickEvent(self, event: QGraphicsSceneMouseEvent) -> None:
        """Choose the value there."""
        event.accept()
        self.chosen.emit(event.pos().y() if self._vertical else event.pos().x())

    def wheelEvent(self, event: QGraphicsSceneWheelEvent) -> None:
        """The wheel zooms along this axis alone."""
        self.turned.emit(event)

    @property
    def labels(self) -> list[tuple[float, str]]:
        """Pixels and texts of the ticks that have one."""
        return [
            (pixel, tick.label)
            for pixel, tick in zip(self._pixels, self._ticks, strict=True)
            if tick.label
        ]

    @property
    def pixels(self) -> list[float]:
        """Where the ticks are along the axis."""
        return self._pixels

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        theme = current()
        painter.setFont(self._font)
        painter.setPen(QColor(theme.dim))
        box = self.boundingRect()
        height = self._metrics.height()
        for text_box, text in self.label_boxes():
            painter.drawText(text_box, Qt.AlignmentFlag.AlignCenter, text)
        if self._vertical:
            painter.save()
            painter.translate(height / 2, box.height() / 2)
            painter.rotate(-90)
            title = QRectF(-box.height() / 2, -height / 2, box.height(), height)
        else:
            painter.save()
            title = QRectF(0, box.height() - height, box.width(), height)
        text = self._metrics.elidedText(
            self._axis.label, Qt.TextElideMode.ElideRight, title.width()
        )
        painter.drawText(title, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()

    def label_boxes(self) -> list[tuple[QRectF, str]]:
        """Where each label is written; those that would meet another one are left out."""
        height, box = self._metrics.height(), self.boundingRect()
        found: list[tuple[QRectF, str]] = []
        for pixel, text in self.labels:
            width = self._metrics.horizontalAdvance(text)
            if self._vertical:
                top = min(max(pixel - height / 2, 0.0), box.height() - height)
                place = QRectF(box.width() - _GAP - width, top, width, height)
            else:
                # Half a label may stand beyond either end: margins have room for it.
                left = min(pixel - width / 2, box.width() + self._metrics.height() - width)
                place = QRectF(left, _GAP / 2, width, height)
            room = place.adjusted(-_GAP / 2, 0, _GAP / 2, 0)
            if not found or not room.intersects(found[-1][0]):
                found.append((place, text))
        return found

    def _fit(self) -> None:
        """Take the room of the widest label so far: a plot that breathes is hard to read."""
        height = self._metrics.height()
        if not self._vertical:
            room = 2 * height + 1.5 * _GAP
            self.setMinimumHeight(room)
            self.setMaximumHeight(room)
            return
        widths = [self._metrics.horizontalAdvance(tick.label) for tick in self._ticks]
        least = self._metrics.horizontalAdvance("100 MiB")
        widest = max([least, self._widest, *widths])
        if widest != self._widest:
            self._widest = widest
            room = height + _GAP + widest + _GAP
            self.setMinimumWidth(room)
            self.setMaximumWidth(room)
