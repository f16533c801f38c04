"""One plot on the screen."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QGraphicsGridLayout,
    QGraphicsView,
    QLabel,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from costlab.figures.spec import LOG, MEASURED, Axis, FigureSpec
from costlab.i18n import _
from costlab_gui.plot.crosshair import CrosshairLayer
from costlab_gui.plot.frame import Frame, Span, from_view, padded, to_view
from costlab_gui.plot.grid import GridLayer
from costlab_gui.plot.layer import Layer
from costlab_gui.plot.lines import LineLayer
from costlab_gui.plot.notes import NoteLayer
from costlab_gui.plot.points import PointLayer
from costlab_gui.plot.summary import summary
from costlab_gui.plot.value_axis import ValueAxis
from costlab_gui.plot.view_box import PlotView, Range
from costlab_gui.theme.tokens import current

_TICK_FONT = 0.92
_AIR_Y, _AIR_POINTS = 0.06, 0.05
# One press of an arrow key: a tenth of a doubling, or a hundredth of a linear axis.
_STEPS_PER_DOUBLING = 10
_STEPS_LINEAR = 100
_EMPTY = FigureSpec("", Axis("n"), Axis(""), ())


class FigureView(QWidget):
    """Shows a :class:`FigureSpec`; the same view shows the next one without being rebuilt.

    The range follows the figure until the user zooms or pans; then it stays, and "Fit" lets go.
    Keys: Left and Right move the crosshair (with Control: by a doubling), Up and Down change the
    curve, Enter chooses the size at the crosshair, F fits, Backspace undoes a zoom.

    Signals:
        crosshair_moved: the user moved the crosshair to this value of x.
        crosshair_chosen: the user wants this value of x (double click, Enter).
        curve_chosen: index of a series of the figure that the user stepped to.
        x_zoomed: the user shows this range of x (low, high), in values.
        fitted: the user let go of the zoomed range.
    """

    crosshair_moved = Signal(float)
    crosshair_chosen = Signal(float)
    curve_chosen = Signal(int)
    x_zoomed = Signal(float, float)
    fitted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.spec = _EMPTY
        self._frame: Frame | None = None
        self._graphics = pg.GraphicsView(self)
        self._graphics.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # The scene would paint a second time for what the first paint has shown already.
        self._graphics.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)
        self._view = PlotView()
        self._build_scene()
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 1, 1, 1)
        column.addWidget(self._graphics)
        self._fit = QToolButton(self)
        self._fit.setText(_("Fit"))
        self._fit.setToolTip(_("Show everything again (F)"))
        self._fit.setAccessibleName(_("Fit the plot"))
        self._fit.clicked.connect(self.fit)
        self._fit.hide()
        self._empty = QLabel(self)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._empty.setProperty("role", "dim")
        self._empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._connect()
        self.retheme()

    def _build_scene(self) -> None:
        font = self._tick_font()
        self._x_axis = ValueAxis(self.spec.x, False, font)
        self._y_axis = ValueAxis(self.spec.y, True, font)
        self._centre = pg.GraphicsWidget()
        grid = QGraphicsGridLayout()
        margin = self.fontMetrics().height()
        grid.setContentsMargins(margin / 3, margin / 2, margin, margin / 3)
        grid.setSpacing(0)
        grid.addItem(self._y_axis, 0, 0)
        grid.addItem(self._view, 0, 1)
        grid.addItem(self._x_axis, 1, 1)
        self._centre.setLayout(grid)
        self._graphics.setCentralItem(self._centre)
        self._grid = GridLayer(
            self._view, self.frame, 0, lambda: (self._x_axis.pixels, self._y_axis.pixels)
        )
        self._lines = LineLayer(self._view, self.frame, 10)
        self._notes = NoteLayer(self._view, self.frame, 20, font)
        self._points = PointLayer(self._view, self.frame, 30)
        self._crosshair = CrosshairLayer(self._view, self.frame, 40, font)
        self._layers: tuple[Layer, ...] = (
            self._grid, self._lines, self._notes, self._points, self._crosshair
        )  # fmt: skip

    def _connect(self) -> None:
        self._view.sigRangeChanged.connect(self._reframe)
        self._view.sigResized.connect(self._resized)
        self._view.touched.connect(self._touched)
        self._view.pointed.connect(self._point)
        self._view.chosen.connect(self._choose)
        self._view.menu_wanted.connect(self._menu)
        self._view.rectangle_moved.connect(self._repaint)
        self._x_axis.chosen.connect(self._choose)
        self._x_axis.turned.connect(lambda event: self._view.wheelEvent(event, 0))
        self._y_axis.turned.connect(lambda event: self._view.wheelEvent(event, 1))

    def show_figure(self, spec: FigureSpec, empty: str = "") -> None:
        """Draw ``spec``.

        Args:
            spec: what to draw.
            empty: the sentence that stands in the plot if ``spec`` has nothing to draw.
        """
        old, self.spec = self.spec, spec
        if any(
            (before.scale, before.unit) != (after.scale, after.unit)
            for before, after in ((old.x, spec.x), (old.y, spec.y))
        ) or old.x.label != spec.x.label:  # fmt: skip
            self._view.release()
        self._x_axis.show_axis(spec.x)
        self._y_axis.show_axis(spec.y)
        lines = [series for series in spec.series if series.kind != MEASURED]
        self._lines.show_series(lines, spec.x, spec.y)
        self._points.show_series(
            [series for series in spec.series if series.kind == MEASURED], spec.x, spec.y
        )
        self._notes.show_notes(spec.marks, spec.rings)
        self._crosshair.show_series(lines)
        if not self._view.is_touched:
            self._view.show_range(self._whole_range())
        self._reframe()
        drawn = any(series.x for series in spec.series)
        self._empty.setText("" if drawn else empty or _("Nothing to draw."))
        self._empty.setVisible(not drawn)
        self._graphics.setVisible(drawn)
        if self._lines.antialias:
            self._describe()

    def set_live(self, live: bool) -> None:
        """Draw faster and coarser while a slider is dragged, and finely again afterwards."""
        self._lines.antialias = not live
        self._repaint()
        if not live:
            self._describe()

    def retheme(self) -> None:
        """Take colours and fonts from the theme again."""
        theme = current()
        self._graphics.setBackground(theme.card)
        box = self._view.rbScaleBox
        box.setPen(QPen(QColor(theme.accent), 1))
        fill = QColor(theme.accent)
        fill.setAlphaF(0.12)
        box.setBrush(fill)
        font = self._tick_font()
        for part in (self._x_axis, self._y_axis, self._notes, self._crosshair):
            part.use_font(font)
        self._graphics.resetCachedContent()
        self._repaint()

    @property
    def crosshair(self) -> float | None:
        """Where the crosshair is, as a value of x."""
        return self._crosshair.at

    def set_crosshair(self, value: float | None) -> None:
        """Move the crosshair without telling anyone."""
        if value != self._crosshair.at:
            self._crosshair.at = value
            self._place_line()
            self._repaint()
            if self._lines.antialias:
                self._describe()

    def cuts(self) -> list[tuple[str, float]]:
        """Names of the curves that the crosshair cuts, and the values there."""
        lines = [series for series in self.spec.series if series.kind != MEASURED]
        found = self._crosshair.cuts(self.spec.x, self.spec.y)
        return [(lines[index].name, value) for index, value in found]

    def choose_curve(self, colour: int | None) -> None:
        """Draw the curves of a colour strongly and write the value at the crosshair beside one."""
        lines = [series for series in self.spec.series if series.kind != MEASURED]
        chosen = next(
            (i for i, one in enumerate(lines) if one.colour == colour and not one.faint), None
        )
        if chosen != self._lines.chosen:
            self._lines.chosen = self._crosshair.chosen = chosen
            self._repaint()

    def fit(self) -> None:
        """Show everything again and follow the figure from now on."""
        self._view.release()
        self._view.show_range(self._whole_range())
        self.fitted.emit()

    def undo_zoom(self) -> None:
        """Show what was shown before the last zoom or pan."""
        if self._view.undo() and not self._view.is_touched:
            self._view.show_range(self._whole_range())

    def zoom(self, low: float, high: float) -> None:
        """Show x from ``low`` to ``high`` (values), as if the user had zoomed there."""
        x = to_view([low, high], self.spec.x)
        wanted = (float(x[0]), float(x[1]))
        if wanted != self._view.range[0]:
            self._view.zoom_to((wanted, self._view.range[1]))

    @property
    def is_zoomed(self) -> bool:
        """Whether the user chose the range."""
        return self._view.is_touched

    @property
    def x_range(self) -> tuple[float, float]:
        """Visible values of x."""
        low, high = self._view.range[0]
        return from_view(low, self.spec.x), from_view(high, self.spec.x)

    @property
    def y_range(self) -> tuple[float, float]:
        """Visible values of y."""
        low, high = self._view.range[1]
        return from_view(low, self.spec.y), from_view(high, self.spec.y)

    def pixel(self, x: float, y: float) -> QPoint:
        """Where in this widget a pair of values is drawn."""
        scene = self._view.mapToScene(*self.frame().place(x, y))
        found: QPoint = self._graphics.mapTo(self, self._graphics.mapFromScene(scene))
        return found

    def frame(self) -> Frame:
        """Axes and visible range in pixels."""
        if self._frame is None:
            box: QRectF = self._view.rect()
            width, height = max(box.width(), 1.0), max(box.height(), 1.0)
            (x0, x1), (y0, y1) = self._view.range
            self._frame = Frame(
                self.spec.x,
                self.spec.y,
                Span(x0, x1, 0.0, width),
                Span(y0, y1, height, -height),
                width,
                height,
            )
        return self._frame

    def summary(self) -> str:
        """The plot in words."""
        if any(series.x for series in self.spec.series):
            return summary(self.spec, self._crosshair.at)
        return self._empty.text()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        far = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        key = event.key()
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self._step(1 if key == Qt.Key.Key_Right else -1, far)
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self._step(1 if key == Qt.Key.Key_PageUp else -1, True)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._next_curve(-1 if key == Qt.Key.Key_Up else 1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._crosshair.at is not None:
                self.crosshair_chosen.emit(self._crosshair.at)
        elif key == Qt.Key.Key_F and not far:
            self.fit()
        elif key == Qt.Key.Key_Backspace:
            self.undo_zoom()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit.adjustSize()
        space = self.fontMetrics().height()
        self._fit.move(self.width() - self._fit.width() - space, space // 2)
        self._empty.setGeometry(self.rect().adjusted(space, space, -space, -space))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.retheme()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(current().card))
        if self.hasFocus():
            painter.setPen(QPen(QColor(current().accent), 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _tick_font(self) -> QFont:
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * _TICK_FONT)
        return font

    def _whole_range(self) -> Range:
        """The range in view coordinates that shows curves, points and marks."""
        lines, points = self._lines.extent, self._points.extent
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

    def _reframe(self) -> None:
        """The visible range or the size changed."""
        self._frame = None
        frame = self.frame()
        self._x_axis.show_span(frame.x)
        self._y_axis.show_span(frame.y)
        self._place_line()
        self._repaint()

    def _repaint(self) -> None:
        self._graphics.viewport().update()

    def _resized(self) -> None:
        box = self._view.rect()
        for layer in self._layers:
            layer.resize(box)
        self._reframe()

    def _place_line(self) -> None:
        at = self._crosshair.at
        self._view.line = None if at is None else self.frame().place_x(at)

    def _touched(self) -> None:
        self._fit.setVisible(self._view.is_touched)
        self._fit.raise_()
        if self._view.is_touched:
            self.x_zoomed.emit(*self.x_range)

    def _point(self, pixel: float) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._move_to(self.frame().value_x(pixel))

    def _choose(self, pixel: float) -> None:
        self.crosshair_chosen.emit(self.frame().value_x(pixel))

    def _move_to(self, value: float) -> None:
        self.set_crosshair(value)
        self.crosshair_moved.emit(value)

    def _step(self, direction: int, far: bool) -> None:
        low, high = self.x_range
        at = self._crosshair.at
        if at is None:
            at = (low * high) ** 0.5 if self.spec.x.scale == LOG else (low + high) / 2
        if self.spec.x.scale == LOG:
            moved = at * 2.0 ** (direction * (1.0 if far else 1 / _STEPS_PER_DOUBLING))
        else:
            moved = at + direction * (high - low) / (10 if far else _STEPS_LINEAR)
        # Sizes are whole: a key press moves by one at least.
        if abs(moved - at) < 1:
            moved = at + direction
        self._move_to(max(moved, 1.0))

    def _next_curve(self, direction: int) -> None:
        """Step to the next curve above or below where the crosshair cuts them."""
        cuts = self._crosshair.cuts(self.spec.x, self.spec.y)
        lines = [series for series in self.spec.series if series.kind != MEASURED]
        order = [index for index, _value in sorted(cuts, key=lambda cut: -cut[1])]
        order = [index for index in order if not lines[index].faint]
        if not order:
            return
        chosen = self._lines.chosen
        place = order.index(chosen) + direction if chosen in order else 0
        index = order[min(max(place, 0), len(order) - 1)]
        self._lines.chosen = self._crosshair.chosen = index
        self._repaint()
        self.curve_chosen.emit(self.spec.series.index(lines[index]))

    def _menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction(_("Fit"), self.fit)
        menu.addAction(_("Undo zoom"), self.undo_zoom)
        if self.actions():
            menu.addSeparator()
            menu.addActions(self.actions())
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(at)

    def _describe(self) -> None:
        self.setAccessibleName(self.spec.title or _("Plot"))
        self.setAccessibleDescription(self.summary())


def _window(axis: Axis) -> tuple[float, float] | None:
    """The part of an axis that its figure asks for, in view coordinates."""
    if axis.window is None:
        return None
    low, high = to_view(axis.window, axis).tolist()
    return low, high
