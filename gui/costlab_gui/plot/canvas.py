"""The drawing surface of a plot: axes, layers, and the range that is seen."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from costlab.figures.spec import LOG, MEASURED, Axis, FigureSpec, Series
from costlab_gui.plot.crosshair import CrosshairLayer
from costlab_gui.plot.frame import Frame, Span, padded, to_view
from costlab_gui.plot.gestures import Gestures
from costlab_gui.plot.grid import draw_grid
from costlab_gui.plot.lines import LineLayer
from costlab_gui.plot.notes import NoteLayer
from costlab_gui.plot.points import PointLayer
from costlab_gui.plot.value_axis import ValueAxis
from costlab_gui.plot.visible_range import Range, VisibleRange
from costlab_gui.theme.tokens import current

_AIR_Y, _AIR_POINTS = 0.06, 0.05
_LEAST_LINES = 8
EMPTY = FigureSpec("", Axis("n"), Axis(""), ())


class Canvas(QWidget):
    """Draws a figure with its axes; ``seen`` holds the visible range, ``gestures`` the mouse.

    All but the crosshair is kept as a picture until it changes, so that moving the crosshair
    draws little.
    """

    def __init__(self, font: QFont, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.spec = EMPTY
        self.lines: tuple[Series, ...] = ()
        self.box = QRectF(0, 0, 1, 1)
        self._frame: Frame | None = None
        self._picture, self._ground = QPixmap(), QPixmap()
        self._ground_is: Hashable = None
        self._drawn = False
        self._margin = QFontMetricsF(font).height()
        self.seen = VisibleRange(self)
        self.gestures = Gestures(self.seen, self.frame, self)
        self.x_axis = ValueAxis(self.spec.x, False, font)
        self.y_axis = ValueAxis(self.spec.y, True, font)
        self.curves = LineLayer()
        self.notes = NoteLayer(font)
        self.points = PointLayer()
        self.crosshair = CrosshairLayer(font)
        self.seen.moved.connect(self.reframe)
        self.gestures.rectangle_moved.connect(self.update)

    def show_figure(self, spec: FigureSpec) -> None:
        """Draw ``spec``, whole unless the user has zoomed into the same axes."""
        old, self.spec = self.spec, spec
        if any(
            (before.scale, before.unit) != (after.scale, after.unit)
            for before, after in ((old.x, spec.x), (old.y, spec.y))
        ) or old.x.label != spec.x.label:  # fmt: skip
            self.seen.release()
        self.lines = tuple(series for series in spec.series if series.kind != MEASURED)
        measured = [series for series in spec.series if series.kind == MEASURED]
        self.x_axis.show_axis(spec.x)
        self.y_axis.show_axis(spec.y)
        self.curves.show_series(self.lines, spec.x, spec.y)
        self.points.show_series(measured, spec.x, spec.y)
        self.notes.show_notes(spec.marks, spec.rings)
        self.crosshair.show_series(self.lines)
        before = self.seen.range
        if not self.seen.is_touched:
            self.seen.show_range(self.whole_range())
        if self.seen.range == before:
            self.reframe()

    def use_font(self, font: QFont) -> None:
        """Write in another font; colours are those of the theme from now on."""
        self._margin = QFontMetricsF(font).height()
        for part in (self.x_axis, self.y_axis, self.notes, self.crosshair):
            part.use_font(font)
        self._ground_is = None
        self.reframe()

    def choose(self, index: int | None) -> None:
        """Draw one of ``lines`` strongly and write its value at the crosshair."""
        if index != self.curves.chosen:
            self.curves.chosen = self.crosshair.chosen = index
            self.redraw()

    def place_crosshair(self, at: float | None) -> None:
        """Move the crosshair to a value of x."""
        self.crosshair.at = at
        self._place_line()
        self.update()

    def cuts(self) -> list[tuple[int, float]]:
        """Index into ``lines`` of every curve that the crosshair cuts, and the value there."""
        return self.crosshair.cuts(self.spec.x, self.spec.y)

    def frame(self) -> Frame:
        """Axes and visible range in pixels of ``box``."""
        if self._frame is None:
            self._frame = self._framed()
        return self._frame

    def whole_range(self) -> Range:
        """The range in view coordinates that shows curves, points and marks."""
        lines, points = self.curves.extent, self.points.extent
        spec = self.spec
        marks_y = to_view([m.value for m in spec.marks if m.axis == "y"], spec.y)
        x = np.concatenate([lines[0], points[0]])
        y = np.concatenate([lines[1], points[1], marks_y])
        if spec.y.scale != LOG:
            y = np.append(y, 0.0)
        else:
            y = y[y > -200]
        x_range = padded(x, 0.0 if lines[0].size else _AIR_POINTS) or (0.0, 1.0)
        y_range = padded(y, _AIR_Y) or (0.0, 1.0)
        if spec.y.scale != LOG and y.size and float(np.nanmin(y)) >= 0:
            y_range = (0.0, y_range[1])
        return _window(spec.x) or x_range, _window(spec.y) or y_range

    def reframe(self) -> None:
        """The visible range or the size changed."""
        self._frame = None
        self._place_line()
        self.redraw()

    def redraw(self) -> None:
        """Draw everything anew when everything that is due has been done."""
        self._drawn = False
        self.update()

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint() * 2

    def minimumSizeHint(self) -> QSize:
        side = math.ceil(_LEAST_LINES * self._margin)
        return QSize(side, side)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.reframe()

    def paintEvent(self, event: QPaintEvent) -> None:
        frame = self.frame()
        if not self._drawn:
            self._draw(frame)
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        painter.translate(self.box.topLeft())
        painter.setClipRect(QRectF(0, 0, frame.width, frame.height))
        self.crosshair.draw(painter, frame)
        rectangle = self.gestures.rectangle
        if rectangle is not None:
            colour = QColor(current().accent)
            painter.setPen(QPen(colour, 1))
            colour.setAlphaF(0.12)
            painter.setBrush(colour)
            painter.drawRect(rectangle)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.gestures.press(self._in_box(event.position()), event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.gestures.move(self._in_box(event.position()), event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.gestures.release(self._in_box(event.position()), event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.gestures.double_click(self._in_box(event.position()), event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.gestures.turn(self._in_box(event.position()), event)

    def _in_box(self, at: QPointF) -> QPointF:
        return at - self.box.topLeft()

    def _framed(self) -> Frame:
        """Place the axes and the box between them; their room depends on the range they show."""
        margin, (x, y) = self._margin, self.seen.range
        top = math.ceil(margin / 2)
        height = math.floor(self.height() - margin / 3 - self.x_axis.thickness) - top
        height = max(height, 1)
        y_span = Span(*y, height, -height)
        self.y_axis.show_span(y_span)
        left = math.ceil(margin / 3 + self.y_axis.thickness)
        width = max(math.floor(self.width() - margin) - left, 1)
        x_span = Span(*x, 0.0, width)
        self.x_axis.show_span(x_span)
        self.box = QRectF(left, top, width, height)
        thick = self.y_axis.thickness
        self.y_axis.room = QRectF(left - thick, top, thick, height)
        self.x_axis.room = QRectF(left, top + height, width, self.x_axis.thickness)
        return Frame(self.spec.x, self.spec.y, x_span, y_span, width, height)

    def _draw(self, frame: Frame) -> None:
        """Draw all but the crosshair into the picture."""
        ratio = self.devicePixelRatioF()
        size = QSize(math.ceil(self.width() * ratio), math.ceil(self.height() * ratio))
        if self._picture.size() != size:
            self._picture = QPixmap(size)
        self._picture.setDevicePixelRatio(ratio)
        self._draw_ground(frame, size, ratio)
        painter = QPainter(self._picture)
        painter.drawPixmap(0, 0, self._ground)
        self.y_axis.draw_labels(painter)
        painter.translate(self.box.topLeft())
        painter.setClipRect(QRectF(0, 0, frame.width, frame.height))
        draw_grid(painter, frame.width, frame.height, along_y=self.y_axis.pixels)
        for layer in (self.curves, self.notes, self.points):
            layer.draw(painter, frame)
        painter.end()
        self._drawn = True

    def _draw_ground(self, frame: Frame, size: QSize, ratio: float) -> None:
        """What stays while values of y change: the x axis, its grid, and the title of the other."""
        wanted = (size.toTuple(), ratio, self.box.getRect(), self.y_axis.room.getRect(), frame.x,
                  self.spec.x, self.spec.y.label, current())  # fmt: skip
        if wanted == self._ground_is:
            return
        self._ground_is = wanted
        if self._ground.size() != size:
            self._ground = QPixmap(size)
        self._ground.setDevicePixelRatio(ratio)
        self._ground.fill(QColor(current().card))
        painter = QPainter(self._ground)
        self.x_axis.draw_labels(painter)
        self.x_axis.draw_title(painter)
        self.y_axis.draw_title(painter)
        painter.translate(self.box.topLeft())
        painter.setClipRect(QRectF(0, 0, frame.width, frame.height))
        draw_grid(painter, frame.width, frame.height, along_x=self.x_axis.pixels)
        painter.end()

    def _place_line(self) -> None:
        at = self.crosshair.at
        self.gestures.line = None if at is None else self.frame().place_x(at)


def _window(axis: Axis) -> tuple[float, float] | None:
    """The part of an axis that its figure asks for, in view coordinates."""
    if axis.window is None:
        return None
    low, high = to_view(axis.window, axis).tolist()
    return low, high
