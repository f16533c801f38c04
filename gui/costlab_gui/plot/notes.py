"""Marks (ceilings, budgets) and rings (crossovers) with their sentences."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from costlab.figures.spec import Mark, Ring
from costlab_gui.plot.frame import Frame
from costlab_gui.plot.layer import Layer
from costlab_gui.theme.tokens import current

_GAP = 6.0
RING_RADIUS = 7.0
_DASHES = [4.0, 4.0]
_KEPT = 200


class NoteLayer(Layer):
    """Draws marks as dashed lines and rings as circles; their labels stay in view."""

    def __init__(self, font: QFont) -> None:
        self.use_font(font)
        self._marks: tuple[Mark, ...] = ()
        self._rings: tuple[Ring, ...] = ()

    def use_font(self, font: QFont) -> None:
        self._font = font
        self._metrics = QFontMetricsF(font)
        self._known: dict[tuple[str, float], tuple[str, float]] = {}

    def show_notes(self, marks: Sequence[Mark], rings: Sequence[Ring]) -> None:
        """Take new marks and rings."""
        self._marks, self._rings = tuple(marks), tuple(rings)

    def draw(self, painter: QPainter, frame: Frame) -> None:
        theme = current()
        painter.setFont(self._font)
        for mark in self._marks:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            pen = QPen(QColor(theme.dim), 1)
            pen.setDashPattern(_DASHES)
            painter.setPen(pen)
            if mark.axis == "x":
                x = frame.place_x(mark.value)
                if 0 <= x <= frame.width:
                    painter.drawLine(QPointF(x, 0), QPointF(x, frame.height))
            else:
                y = frame.place_y(mark.value)
                if 0 <= y <= frame.height:
                    painter.drawLine(QPointF(0, y), QPointF(frame.width, y))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for ring in self._rings:
            x, y = frame.place(ring.x, ring.y)
            if _inside(x, y, frame):
                painter.setPen(QPen(QColor(theme.text), 1.6))
                painter.drawEllipse(QPointF(x, y), RING_RADIUS, RING_RADIUS)
        for box, text, strong in self.labels(frame):
            ground = QColor(theme.card)
            ground.setAlphaF(0.8)
            painter.fillRect(box, ground)
            painter.setPen(QColor(theme.text if strong else theme.dim))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def labels(self, frame: Frame) -> list[tuple[QRectF, str, bool]]:
        """Where each sentence is written, inside the view, and whether it is a ring's.

        A mark that is out of view is named at the edge it lies behind.
        """
        found: list[tuple[QRectF, str, bool]] = []
        for ring in self._rings:
            x, y = frame.place(ring.x, ring.y)
            if _inside(x, y, frame):
                text, width = self._fitted(ring.label, frame.width - _GAP)
                box = QRectF(x - RING_RADIUS - _GAP - width, y - 2 * RING_RADIUS - _GAP,
                             width, self._metrics.height())  # fmt: skip
                found.append((self._kept_in(box, frame), text, True))
        for mark in self._marks:
            x_wise = mark.axis == "x"
            at = frame.place_x(mark.value) if x_wise else frame.place_y(mark.value)
            length = frame.width if x_wise else frame.height
            text = mark.label
            if at < 0:
                text = f"{'←' if x_wise else '↑'} {mark.label}"
            elif at > length:
                text = f"{'→' if x_wise else '↓'} {mark.label}"
            text, width = self._fitted(text, frame.width - 2 * _GAP)
            height = self._metrics.height()
            if x_wise:
                box = QRectF(at + _GAP / 2, _GAP / 2, width, height)
            else:
                box = QRectF(_GAP, at - height - 1, width, height)
            found.append((self._kept_in(box, frame), text, False))
        return _apart(found, frame)

    def _fitted(self, text: str, room: float) -> tuple[str, float]:
        """A text cut where it is wider than ``room``, and the width of its ground."""
        found = self._known.get((text, room))
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            cut = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
            found = self._known[text, room] = cut, self._metrics.horizontalAdvance(cut) + _GAP
        return found

    def _kept_in(self, box: QRectF, frame: Frame) -> QRectF:
        moved = QRectF(box)
        moved.moveLeft(max(min(box.left(), frame.width - box.width()), 0.0))
        moved.moveTop(max(min(box.top(), frame.height - box.height()), 0.0))
        return moved


def _inside(x: float, y: float, frame: Frame) -> bool:
    return 0 <= x <= frame.width and 0 <= y <= frame.height


def _apart(labels: list[tuple[QRectF, str, bool]], frame: Frame) -> list[tuple[QRectF, str, bool]]:
    """Labels moved down, or up at the foot, until none lies on an earlier one."""
    placed: list[tuple[QRectF, str, bool]] = []
    for box, text, strong in labels:
        for direction in (1.0, -1.0):
            tried = QRectF(box)
            for _try in range(len(labels)):
                hit = next((p[0] for p in placed if p[0].intersects(tried)), None)
                if hit is None:
                    break
                tried.moveTop(hit.bottom() + 1 if direction > 0 else hit.top() - box.height() - 1)
            if tried.top() >= 0 and tried.bottom() <= frame.height:
                box = tried
                break
        placed.append((box, text, strong))
    return placed
