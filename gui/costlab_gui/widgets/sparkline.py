"""A small curve without axes: how a reading went over the last minutes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from costlab_gui.theme.tokens import current

Point = tuple[float, float]
_FILL = 48


class Sparkline(QWidget):
    """Draws (time, value) points, ``lines`` lines of text high; disabled, it is grey.

    Signals:
        picked: the time under the mouse (float), where :meth:`set_cursor` gave one before.
    """

    picked = Signal(float)

    def __init__(self, parent: QWidget | None = None, lines: float = 1.7) -> None:
        super().__init__(parent)
        self._lines = lines
        self._points: tuple[Point, ...] = ()
        self._span = (0.0, 1.0)
        self._top = 1.0
        self._gap_s = float("inf")
        self._cursor: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def points(self) -> tuple[Point, ...]:
        return self._points

    @property
    def cursor_s(self) -> float | None:
        return self._cursor

    def show_points(
        self,
        points: Sequence[Point],
        begin_s: float,
        end_s: float,
        top: float,
        gap_s: float = float("inf"),
    ) -> None:
        """Draw ``points`` from ``begin_s`` to ``end_s`` and from 0 to ``top``.

        Points further apart than ``gap_s`` are not joined.
        """
        self._points = tuple(points)
        self._span = (begin_s, max(end_s, begin_s + 1e-9))
        self._top = top if top > 0 else 1.0
        self._gap_s = gap_s
        self.update()

    def set_cursor(self, time_s: float | None) -> None:
        """Mark a time; None removes the mark and the mouse no longer picks."""
        if time_s != self._cursor:
            self._cursor = time_s
            self.update()

    def sizeHint(self) -> QSize:
        line = self.fontMetrics().height()
        return QSize(9 * line, round(self._lines * line))

    def minimumSizeHint(self) -> QSize:
        line = self.fontMetrics().height()
        return QSize(4 * line, round(self._lines * line))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pick(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._pick(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.window))
        painter.drawRoundedRect(QRectF(self.rect()), 4, 4)
        colour = QColor(theme.accent if self.isEnabled() else theme.dim)
        fill = QColor(colour)
        fill.setAlpha(_FILL)
        for piece in self._pieces():
            area = QPainterPath(piece[0])
            for point in piece[1:]:
                area.lineTo(point)
            line = QPainterPath(area)
            area.lineTo(piece[-1].x(), self.height())
            area.lineTo(piece[0].x(), self.height())
            painter.fillPath(area, fill)
            painter.strokePath(line, QPen(colour, 1.5))
        if self._cursor is not None:
            x = self._x(self._cursor)
            painter.setPen(QPen(QColor(theme.text), 1))
            painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))

    def _pieces(self) -> list[list[QPointF]]:
        """The points in pixels, cut where time is missing."""
        room = self.height() - 3.0
        pieces: list[list[QPointF]] = []
        last = float("-inf")
        for time_s, value in self._points:
            share = min(max(value / self._top, 0.0), 1.0)
            point = QPointF(self._x(time_s), 1.5 + room * (1 - share))
            if time_s - last > self._gap_s or not pieces:
                pieces.append([])
            pieces[-1].append(point)
            last = time_s
        return pieces

    def _x(self, time_s: float) -> float:
        begin, end = self._span
        return (time_s - begin) / (end - begin) * self.width()

    def _pick(self, event: QMouseEvent) -> None:
        if self._cursor is None or not event.buttons() & Qt.MouseButton.LeftButton:
            return
        begin, end = self._span
        share = event.position().x() / max(self.width(), 1)
        self.picked.emit(begin + min(max(share, 0.0), 1.0) * (end - begin))
