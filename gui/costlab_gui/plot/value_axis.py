"""An axis of a plot: labels with units, without a line and without tick marks."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter

from costlab.figures.spec import Axis
from costlab.figures.ticks import Tick, ticks
from costlab_gui.plot.frame import Span, from_view, to_view
from costlab_gui.plot.labels import Labels
from costlab_gui.theme.tokens import current

_GAP = 6.0


class ValueAxis:
    """The ticks of one axis, beside (``vertical``) or below the plot.

    ``room`` is the rectangle it is drawn in; ``thickness`` what it needs across the axis. It is
    that of the widest label so far: a plot that breathes is hard to read.
    """

    def __init__(self, axis: Axis, vertical: bool, font: QFont) -> None:
        self.room = QRectF()
        self._axis = axis
        self._vertical = vertical
        self._span: Span | None = None
        self._ticks: list[Tick] = []
        self._pixels: list[float] = []
        self.use_font(font)

    def use_font(self, font: QFont) -> None:
        """Write in ``font``."""
        self._labels = Labels(font)
        self._widest = 0.0
        self._span = None

    def show_axis(self, axis: Axis) -> None:
        """Be another axis."""
        if axis != self._axis:
            self._axis = axis
            self._widest = 0.0
            self._span = None

    def show_span(self, span: Span) -> None:
        """The plot shows this range now."""
        if span == self._span:
            return
        self._span = span
        low, high = from_view(span.low, self._axis), from_view(span.high, self._axis)
        if self._vertical:
            most = abs(span.length) / (2.6 * self._labels.height)
        else:
            most = abs(span.length) / self._labels.width("000000000")
        self._ticks = ticks(self._axis, low, high, int(most)) if low < high else []
        values = [tick.value for tick in self._ticks]
        self._pixels = span.pixels(to_view(values, self._axis)).tolist() if values else []
        widths = [self._labels.width(tick.label) for tick in self._ticks]
        self._widest = max([self._widest, self._labels.width("100 MiB"), *widths])

    @property
    def thickness(self) -> float:
        """Pixels across the axis that its labels and its title take."""
        if self._vertical:
            return self._labels.height + _GAP + self._widest + _GAP
        return 2 * self._labels.height + 1.5 * _GAP

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

    def draw_labels(self, painter: QPainter) -> None:
        """Write the labels into ``room``."""
        painter.setFont(self._labels.font)
        painter.setPen(QColor(current().dim))
        for place, text in self.label_boxes():
            self._labels.draw(painter, place.left(), place.top(), text)

    def draw_title(self, painter: QPainter) -> None:
        """Write the title into ``room``."""
        painter.setFont(self._labels.font)
        painter.setPen(QColor(current().dim))
        height, room = self._labels.height, self.room
        painter.save()
        if self._vertical:
            painter.translate(room.left() + height / 2, room.center().y())
            painter.rotate(-90)
            title = QRectF(-room.height() / 2, -height / 2, room.height(), height)
        else:
            title = QRectF(room.left(), room.bottom() - height, room.width(), height)
        text = self._labels.metrics.elidedText(
            self._axis.label, Qt.TextElideMode.ElideRight, title.width()
        )
        painter.drawText(title, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()

    def label_boxes(self) -> list[tuple[QRectF, str]]:
        """Where each label is written; those that would meet another one are left out."""
        height, room = self._labels.height, self.room
        found: list[tuple[QRectF, str]] = []
        for pixel, text in self.labels:
            width = self._labels.width(text)
            if self._vertical:
                top = min(max(pixel - height / 2, 0.0), room.height() - height)
                place = QRectF(room.right() - _GAP - width, room.top() + top, width, height)
            else:
                # Half a label may stand beyond either end: margins have space for it.
                left = min(pixel - width / 2, room.width() + height - width)
                place = QRectF(room.left() + left, room.top() + _GAP / 2, width, height)
            around = place.adjusted(-_GAP / 2, 0, _GAP / 2, 0)
            if not found or not around.intersects(found[-1][0]):
                found.append((place, text))
        return found
