"""What the mouse does in a plot: zoom by wheel and rectangle, pan, point; and the way back."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Signal

_WHEEL_STEP = 1.0 / 600
_GRIP = 7.0
_KEPT = 100
# A wheel turns in many small events; those this close in time are one step back.
_BURST_MS = 400

Range = tuple[tuple[float, float], tuple[float, float]]


class PlotView(pg.ViewBox):
    """A view box whose range is set by its owner until the user zooms or pans.

    Signals:
        touched: the user changed the range.
        pointed: pixel x that the user clicked or dragged the line to.
        chosen: pixel x of a double click.
        menu_wanted: global position of a right click.
        rectangle_moved: the rectangle to zoom to was drawn or taken away.
    """

    touched = Signal()
    pointed = Signal(float)
    chosen = Signal(float)
    menu_wanted = Signal(object)
    rectangle_moved = Signal()

    def __init__(self) -> None:
        super().__init__(enableMenu=False, defaultPadding=0.0)
        self.disableAutoRange()
        self.is_touched = False
        self.line: float | None = None
        self._back: list[Range] = []
        self._burst = -(10**9)
        self._dragging = ""
        self._clock = pg.QtCore.QElapsedTimer()
        self._clock.start()

    @property
    def range(self) -> Range:
        """The visible range in view coordinates: x, y."""
        (x0, x1), (y0, y1) = self.viewRange()
        return (x0, x1), (y0, y1)

    def show_range(self, wanted: Range) -> None:
        """Set the range as the owner, which is no step of the user's."""
        if wanted != self.range:
            self.setRange(xRange=wanted[0], yRange=wanted[1], padding=0, disableAutoRange=False)

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

    def wheelEvent(self, event: Any, axis: int | None = None) -> None:
        """Zoom about the mouse; over an axis along that axis alone."""
        now = self._clock.elapsed()
        if now - self._burst > _BURST_MS:
            self._remember()
        self._burst = now
        factor = 2.0 ** (-event.delta() * _WHEEL_STEP)
        if axis is None and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            axis = 0
        centre = self._to_view(self.mapFromScene(event.scenePos()))
        self.show_range(
            tuple(  # type: ignore[arg-type]
                (middle - (middle - low) * scale, middle + (high - middle) * scale)
                for (low, high), middle, scale in zip(
                    self.range,
                    (centre.x(), centre.y()),
                    (1.0 if axis == 1 else factor, 1.0 if axis == 0 else factor),
                    strict=True,
                )
            )
        )
        event.accept()
        self._note()

    def mouseClickEvent(self, event: Any) -> None:
        if event.button() == Qt.MouseButton.RightButton:
            event.accept()
            self.menu_wanted.emit(event.screenPos().toPoint())
        elif event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            (self.chosen if event.double() else self.pointed).emit(event.pos().x())

    def mouseDragEvent(self, event: Any, axis: int | None = None) -> None:
        """Drag the line, draw a rectangle to zoom to, or pan (Shift, or the middle button)."""
        left = event.button() == Qt.MouseButton.LeftButton
        if not left and event.button() != Qt.MouseButton.MiddleButton:
            event.ignore()
            return
        event.accept()
        down = event.buttonDownPos()
        if event.isStart():
            shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            if left and self.near_line(down.x()):
                self._dragging = "line"
            elif left and not shift and axis is None:
                self._dragging = "rectangle"
            else:
                self._dragging = "pan"
                self._remember()
        if self._dragging == "line":
            self.pointed.emit(event.pos().x())
        elif self._dragging == "rectangle":
            self._draw_rectangle(QRectF(down, event.pos()).normalized(), event.isFinish())
        else:
            self._pan(self._to_view(event.lastPos()) - self._to_view(event.pos()), axis)

    def keyPressEvent(self, event: Any) -> None:
        """Keys belong to the owner."""
        event.ignore()

    def _draw_rectangle(self, box: QRectF, finished: bool) -> None:
        self.updateScaleBox(box.topLeft(), box.bottomRight())
        self.rbScaleBox.setVisible(not finished)
        self.rectangle_moved.emit()
        if not finished:
            return
        if box.width() > 4 and box.height() > 4:
            low, high = self._to_view(box.bottomLeft()), self._to_view(box.topRight())
            self.zoom_to(((low.x(), high.x()), (low.y(), high.y())))

    def _pan(self, by: QPointF, axis: int | None) -> None:
        (x0, x1), (y0, y1) = self.range
        dx, dy = (0.0 if axis == 1 else by.x()), (0.0 if axis == 0 else by.y())
        self.show_range(((x0 + dx, x1 + dx), (y0 + dy, y1 + dy)))
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
