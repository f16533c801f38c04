"""What the mouse does in a plot: zoom by wheel and rectangle, pan, point at a size."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QElapsedTimer, QObject, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from costlab_gui.plot.frame import Frame
from costlab_gui.plot.visible_range import VisibleRange

_WHEEL_STEP = 1.0 / 600
_GRIP = 7.0
_LEAST = 4.0
# A wheel turns in many small events; those this close in time are one step back.
_BURST_MS = 400

_LEFT, _MIDDLE, _RIGHT = (
    Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton, Qt.MouseButton.RightButton
)  # fmt: skip


class Gestures(QObject):
    """Turns events of the mouse into zooms and pans of a range, and into what the user means.

    Positions are pixels of the frame, whose corner is at 0, 0; beyond its left and lower edge lie
    the axes.

    Signals:
        pointed: pixel x that the user clicked, or dragged the line to.
        chosen: pixel x of a double click in the plot or below it.
        menu_wanted: global position of a right click.
        rectangle_moved: the rectangle to zoom to was drawn or taken away.
    """

    pointed = Signal(float)
    chosen = Signal(float)
    menu_wanted = Signal(QPoint)
    rectangle_moved = Signal()

    def __init__(self, seen: VisibleRange, frame: Callable[[], Frame], parent: QObject) -> None:
        super().__init__(parent)
        self.line: float | None = None
        self.rectangle: QRectF | None = None
        self._seen, self._frame = seen, frame
        self._down: QPointF | None = None
        self._last = QPointF()
        self._button = Qt.MouseButton.NoButton
        self._doing = ""
        self._burst = -(10**9)
        self._clock = QElapsedTimer()
        self._clock.start()

    def press(self, at: QPointF, event: QMouseEvent) -> None:
        """A button went down: the start of a click, or of a drag if it moves on."""
        self._button, self._doing = event.button(), ""
        self._down = QPointF(at) if self._inside(at) else None
        self._last = QPointF(at)

    def move(self, at: QPointF, event: QMouseEvent) -> None:
        """Drag the line, draw a rectangle to zoom to, or pan (Shift, or the middle button)."""
        down = self._down
        if down is None or self._button not in (_LEFT, _MIDDLE):
            return
        if not self._doing:
            if (at - down).manhattanLength() < QApplication.startDragDistance() / 2:
                return
            self._begin(down, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        if self._doing == "line":
            self.pointed.emit(at.x())
        elif self._doing == "rectangle":
            self.rectangle = QRectF(down, at).normalized()
            self.rectangle_moved.emit()
        else:
            self._pan(at)
        self._last = QPointF(at)

    def release(self, at: QPointF, event: QMouseEvent) -> None:
        """The end of a drag, or a click."""
        down, self._down = self._down, None
        if down is None:
            return
        if self._doing == "rectangle" and self.rectangle is not None:
            box, self.rectangle = self.rectangle, None
            self.rectangle_moved.emit()
            if box.width() > _LEAST and box.height() > _LEAST:
                frame = self._frame()
                low, high = box.bottomLeft(), box.topRight()
                self._seen.zoom_to((
                    (frame.x.coordinate(low.x()), frame.x.coordinate(high.x())),
                    (frame.y.coordinate(low.y()), frame.y.coordinate(high.y())),
                ))  # fmt: skip
        elif not self._doing and self._button == _RIGHT:
            self.menu_wanted.emit(event.globalPosition().toPoint())
        elif not self._doing and self._button == _LEFT:
            self.pointed.emit(at.x())

    def double_click(self, at: QPointF, event: QMouseEvent) -> None:
        """Choose the size; so do double clicks on the axis below."""
        frame = self._frame()
        self._down = None
        if event.button() == _LEFT and 0 <= at.x() <= frame.width and at.y() >= 0:
            self.chosen.emit(at.x())

    def turn(self, at: QPointF, event: QWheelEvent) -> None:
        """Zoom about the mouse; over an axis, or with Shift, along one axis alone."""
        frame = self._frame()
        below, beside = at.y() > frame.height, at.x() < 0
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if below and beside:
            return
        turned = event.angleDelta()
        factor = 2.0 ** (-(turned.y() or turned.x()) * _WHEEL_STEP)
        now = self._clock.elapsed()
        step = now - self._burst > _BURST_MS
        self._burst = now
        x, y = self._seen.range
        if not beside:
            x = _scaled(x, frame.x.coordinate(at.x()), factor)
        if not below and not (shift and not beside):
            y = _scaled(y, frame.y.coordinate(at.y()), factor)
        self._seen.zoom_to((x, y), step=step)

    def _inside(self, at: QPointF) -> bool:
        frame = self._frame()
        return 0 <= at.x() <= frame.width and 0 <= at.y() <= frame.height

    def _begin(self, down: QPointF, shift: bool) -> None:
        near = self.line is not None and abs(down.x() - self.line) <= _GRIP
        if self._button == _LEFT and near:
            self._doing = "line"
        elif self._button == _LEFT and not shift:
            self._doing = "rectangle"
        else:
            self._doing = "pan"
            self._seen.remember()

    def _pan(self, at: QPointF) -> None:
        frame, (x, y) = self._frame(), self._seen.range
        dx = frame.x.coordinate(self._last.x()) - frame.x.coordinate(at.x())
        dy = frame.y.coordinate(self._last.y()) - frame.y.coordinate(at.y())
        self._seen.zoom_to(((x[0] + dx, x[1] + dx), (y[0] + dy, y[1] + dy)), step=False)


def _scaled(ends: tuple[float, float], middle: float, factor: float) -> tuple[float, float]:
    low, high = ends
    return middle - (middle - low) * factor, middle + (high - middle) * factor
