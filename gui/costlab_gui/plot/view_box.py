"""What the mouse does in a plot: zoom by wheel and rectangle, pan, point; and the way back."""

from __future__ import annotations

import math

from PySide6.QtCore import QElapsedTimer, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsSceneMouseEvent,
    QGraphicsSceneResizeEvent,
    QGraphicsSceneWheelEvent,
    QGraphicsWidget,
    QStyleOptionGraphicsItem,
    QWidget,
)

from costlab_gui.theme.tokens import current

_WHEEL_STEP = 1.0 / 600
_GRIP = 7.0
_CLICK = 4.0
"""How far the mouse may move, in pixels, while it clicks."""
_KEPT = 100
# A wheel turns in many small events; those this close in time are one step back.
_BURST_MS = 400
# Narrower than this share of its coordinates, a range is no longer told apart in float64.
_NARROWEST = 1e-12

Range = tuple[tuple[float, float], tuple[float, float]]


class PlotView(QGraphicsWidget):
    """The box that curves are drawn in: its range is its owner's until the user zooms or pans.

    Signals:
        ranged: the range changed, whoever changed it.
        resized: the box has another size.
        touched: the user changed the range.
        pointed: pixel x that the user clicked or dragged the line to.
        chosen: pixel x of a double click.
        menu_wanted: global position of a right click.
        rectangle_moved: the rectangle to zoom to was drawn or taken away.
    """

    ranged = Signal()
    resized = Signal()
    touched = Signal()
    pointed = Signal(float)
    chosen = Signal(float)
    menu_wanted = Signal(object)
    rectangle_moved = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemClipsChildrenToShape)
        self.range: Range = ((0.0, 1.0), (0.0, 1.0))
        self.is_touched = False
        self.line: float | None = None
        self._rectangle = _Rectangle(self)
        self._back: list[Range] = []
        self._burst = -(10**9)
        self._pressed = False
        self._dragging = ""
        self._clock = QElapsedTimer()
        self._clock.start()

    def show_range(self, wanted: Range) -> None:
        """Set the range as the owner, which is no step of the user's."""
        if wanted != self.range and all(_can_be_shown(low, high) for low, high in wanted):
            self.range = wanted
            self.ranged.emit()

    def zoom_to(self, wanted: Range) -> None:
        """Set the range as the user: it stays, and can be undone."""
        self._remember()
        self.show_range(wanted)
        self._note()

    def undo(self) -> bool:
        """Go back to the range before the last zoom; False if there was none."""
        if not self._back:
            return False
        self.show_range(self._back.pop())
        if not self._back:
            self.is_touched = False
        self.touched.emit()
        return True

    def release(self) -> None:
        """Forget what the user zoomed to."""
        self._back.clear()
        self.is_touched = False
        self.touched.emit()

    def near_line(self, x: float) -> bool:
        """Whether a pixel is close enough to the line to drag it."""
        return self.line is not None and abs(x - self.line) <= _GRIP

    def turn(self, event: QGraphicsSceneWheelEvent, axis: int | None = None) -> None:
        """Zoom about the mouse; with ``axis`` (0 is x) along that axis alone."""
        now = self._clock.elapsed()
        if now - self._burst > _BURST_MS:
            self._remember()
        self._burst = now
        factor = 2.0 ** (-event.delta() * _WHEEL_STEP)
        if axis is None and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            axis = 0
        centre = self._to_view(self.mapFromScene(event.scenePos()))
        (x0, x1), (y0, y1) = self.range
        by_x, by_y = (1.0 if axis == 1 else factor), (1.0 if axis == 0 else factor)
        self.show_range(
            (
                (centre.x() - (centre.x() - x0) * by_x, centre.x() + (x1 - centre.x()) * by_x),
                (centre.y() - (centre.y() - y0) * by_y, centre.y() + (y1 - centre.y()) * by_y),
            )
        )
        event.accept()
        self._note()

    def resizeEvent(self, event: QGraphicsSceneResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def wheelEvent(self, event: QGraphicsSceneWheelEvent) -> None:
        self.turn(event)

    def mousePressEvent(self, event: QGraphicsSceneMouseEvent) -> None:
        self._pressed, self._dragging = True, ""
        event.accept()

    def mouseMoveEvent(self, event: QGraphicsSceneMouseEvent) -> None:
        self._drag(event, finished=False)

    def mouseReleaseEvent(self, event: QGraphicsSceneMouseEvent) -> None:
        """End a drag; what was none is a click."""
        pressed, self._pressed = self._pressed, False
        if self._dragging:
            self._drag(event, finished=True)
        elif pressed and event.button() == Qt.MouseButton.RightButton:
            self.menu_wanted.emit(event.screenPos())
        elif pressed and event.button() == Qt.MouseButton.LeftButton:
            self.pointed.emit(event.pos().x())
        self._dragging = ""

    def mouseDoubleClickEvent(self, event: QGraphicsSceneMouseEvent) -> None:
        event.accept()
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(event.pos().x())

    def _drag(self, event: QGraphicsSceneMouseEvent, finished: bool) -> None:
        """Drag the line, draw a rectangle to zoom to, or pan (Shift, or the middle button)."""
        left = bool((event.buttons() | event.button()) & Qt.MouseButton.LeftButton)
        button = Qt.MouseButton.LeftButton if left else Qt.MouseButton.MiddleButton
        down = event.buttonDownPos(button)
        if not self._dragging:
            held = left or event.buttons() & Qt.MouseButton.MiddleButton
            if not held or (event.pos() - down).manhattanLength() < _CLICK:
                return
            if left and self.near_line(down.x()):
                self._dragging = "line"
            elif left and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._dragging = "rectangle"
            else:
                self._dragging = "pan"
                self._remember()
        if self._dragging == "line":
            self.pointed.emit(event.pos().x())
        elif self._dragging == "rectangle":
            self._draw_rectangle(QRectF(down, event.pos()).normalized(), finished)
        else:
            self._pan(self._to_view(event.lastPos()) - self._to_view(event.pos()))

    def _draw_rectangle(self, box: QRectF, finished: bool) -> None:
        self._rectangle.show_box(None if finished else box)
        self.rectangle_moved.emit()
        if finished and box.width() > _CLICK and box.height() > _CLICK:
            low, high = self._to_view(box.bottomLeft()), self._to_view(box.topRight())
            self.zoom_to(((low.x(), high.x()), (low.y(), high.y())))

    def _pan(self, by: QPointF) -> None:
        (x0, x1), (y0, y1) = self.range
        self.show_range(((x0 + by.x(), x1 + by.x()), (y0 + by.y(), y1 + by.y())))
        self._note()

    def _to_view(self, pixel: QPointF) -> QPointF:
        (x0, x1), (y0, y1) = self.range
        box = self.rect()
        return QPointF(
            x0 + (x1 - x0) * pixel.x() / max(box.width(), 1.0),
            y1 - (y1 - y0) * pixel.y() / max(box.height(), 1.0),
        )

    def _remember(self) -> None:
        self._back = [*self._back[-_KEPT + 1 :], self.range]

    def _note(self) -> None:
        self.is_touched = True
        self.touched.emit()


class _Rectangle(QGraphicsItem):
    """The rectangle to zoom to, above everything else in the view."""

    def __init__(self, view: PlotView) -> None:
        super().__init__(view)
        self.setZValue(1000.0)
        self._box = QRectF()
        self.hide()

    def show_box(self, box: QRectF | None) -> None:
        """Be there, or nowhere."""
        self.prepareGeometryChange()
        self._box = box or QRectF()
        self.setVisible(box is not None)

    def boundingRect(self) -> QRectF:
        return self._box.adjusted(-1, -1, 1, 1)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        fill = QColor(current().accent)
        painter.setPen(QPen(fill, 1))
        fill.setAlphaF(0.12)
        painter.setBrush(fill)
        painter.drawRect(self._box)


def _can_be_shown(low: float, high: float) -> bool:
    if not (math.isfinite(low) and math.isfinite(high)):
        return False
    return high - low > _NARROWEST * max(abs(low), abs(high), 1e-300)
