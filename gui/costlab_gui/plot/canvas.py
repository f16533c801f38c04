"""The drawing surface of a plot: axes, layers, and the range that is seen."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsGridLayout,
    QGraphicsScene,
    QGraphicsView,
    QGraphicsWidget,
    QWidget,
)

from costlab.figures.spec import LOG, MEASURED, Axis, FigureSpec, Series
from costlab_gui.plot.crosshair import CrosshairLayer
from costlab_gui.plot.frame import Frame, Span, padded, to_view
from costlab_gui.plot.grid import GridLayer
from costlab_gui.plot.lines import LineLayer
from costlab_gui.plot.notes import NoteLayer
from costlab_gui.plot.points import PointLayer
from costlab_gui.plot.value_axis import ValueAxis
from costlab_gui.plot.view_box import PlotView, Range
from costlab_gui.theme.tokens import current

_AIR_Y, _AIR_POINTS = 0.06, 0.05
EMPTY = FigureSpec("", Axis("n"), Axis(""), ())


class Canvas(QGraphicsView):
    """Draws a figure with its axes; ``view`` holds the visible range and takes the mouse."""

    def __init__(self, font: QFont, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        for set_bar in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            set_bar(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The scene would paint a second time for what the first paint has shown already.
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)
        self.spec = EMPTY
        self.lines: tuple[Series, ...] = ()
        self._frame: Frame | None = None
        self.view = PlotView()
        self.x_axis = ValueAxis(self.spec.x, False, font)
        self.y_axis = ValueAxis(self.spec.y, True, font)
        self._all = QGraphicsScene(self)
        # A handful of items that all lie in view: looking them up takes longer than painting them.
        self._all.setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        self._centre = self._lay_out(font)
        self._all.addItem(self._centre)
        self.setScene(self._all)
        self._grid = GridLayer(
            self.view, self.frame, 0, lambda: (self.x_axis.pixels, self.y_axis.pixels)
        )
        self.curves = LineLayer(self.view, self.frame, 10)
        self.notes = NoteLayer(self.view, self.frame, 20, font)
        self.points = PointLayer(self.view, self.frame, 30)
        self.crosshair = CrosshairLayer(self.view, self.frame, 40, font)
        self.view.ranged.connect(self.reframe)
        self.view.resized.connect(self._resized)
        self.view.rectangle_moved.connect(self.repaint_soon)
        self.x_axis.turned.connect(lambda event: self.view.turn(event, 0))
        self.y_axis.turned.connect(lambda event: self.view.turn(event, 1))

    def _lay_out(self, font: QFont) -> QGraphicsWidget:
        centre = QGraphicsWidget()
        grid = QGraphicsGridLayout()
        margin = QFontMetricsF(font).height()
        grid.setContentsMargins(margin / 3, margin / 2, margin, margin / 3)
        grid.setSpacing(0)
        grid.addItem(self.y_axis, 0, 0)
        grid.addItem(self.view, 0, 1)
        grid.addItem(self.x_axis, 1, 1)
        centre.setLayout(grid)
        return centre

    def show_figure(self, spec: FigureSpec) -> None:
        """Draw ``spec``, whole unless the user has zoomed into the same axes."""
        old, self.spec = self.spec, spec
        if any(
            (before.scale, before.unit) != (after.scale, after.unit)
            for before, after in ((old.x, spec.x), (old.y, spec.y))
        ) or old.x.label != spec.x.label:  # fmt: skip
            self.view.release()
        self.lines = tuple(series for series in spec.series if series.kind != MEASURED)
        measured = [series for series in spec.series if series.kind == MEASURED]
        self.x_axis.show_axis(spec.x)
        self.y_axis.show_axis(spec.y)
        self.curves.show_series(self.lines, spec.x, spec.y)
        self.points.show_series(measured, spec.x, spec.y)
        self.notes.show_notes(spec.marks, spec.rings)
        self.crosshair.show_series(self.lines)
        if not self.view.is_touched:
            self.view.show_range(self.whole_range())
        self.reframe()

    def retheme(self, font: QFont) -> None:
        """Take colours from the theme again, and another font."""
        self.setBackgroundBrush(QColor(current().card))
        for part in (self.x_axis, self.y_axis, self.notes, self.crosshair):
            part.use_font(font)
        self.resetCachedContent()
        self.repaint_soon()

    def choose(self, index: int | None) -> None:
        """Draw one of ``lines`` strongly and write its value at the crosshair."""
        if index != self.curves.chosen:
            self.curves.chosen = self.crosshair.chosen = index
            self.repaint_soon()

    def place_crosshair(self, at: float | None) -> None:
        """Move the crosshair to a value of x."""
        self.crosshair.at = at
        self._place_line()
        self.repaint_soon()

    def cuts(self) -> list[tuple[int, float]]:
        """Index into ``lines`` of every curve that the crosshair cuts, and the value there."""
        return self.crosshair.cuts(self.spec.x, self.spec.y)

    def frame(self) -> Frame:
        """Axes and visible range in pixels."""
        if self._frame is None:
            box: QRectF = self.view.rect()
            width, height = max(box.width(), 1.0), max(box.height(), 1.0)
            (x0, x1), (y0, y1) = self.view.range
            self._frame = Frame(
                self.spec.x,
                self.spec.y,
                Span(x0, x1, 0.0, width),
                Span(y0, y1, height, -height),
                width,
                height,
            )
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
        frame = self.frame()
        self.x_axis.show_span(frame.x)
        self.y_axis.show_span(frame.y)
        self._place_line()
        self.repaint_soon()

    def repaint_soon(self) -> None:
        """Paint once when everything that is due has been done."""
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = QRectF(self.viewport().rect())
        self._all.setSceneRect(room)
        self._centre.setGeometry(room)

    def _resized(self) -> None:
        box = self.view.rect()
        for layer in (self._grid, self.curves, self.notes, self.points, self.crosshair):
            layer.resize(box)
        self.reframe()

    def _place_line(self) -> None:
        at = self.crosshair.at
        self.view.line = None if at is None else self.frame().place_x(at)


def _window(axis: Axis) -> tuple[float, float] | None:
    """The part of an axis that its figure asks for, in view coordinates."""
    if axis.window is None:
        return None
    low, high = to_view(axis.window, axis).tolist()
    return low, high
