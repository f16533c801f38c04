"""One plot on the screen."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QLabel, QMenu, QToolButton, QVBoxLayout, QWidget

from costlab.figures.spec import LOG, FigureSpec
from costlab.i18n import _
from costlab_gui.plot.canvas import Canvas
from costlab_gui.plot.frame import Frame, from_view, to_view
from costlab_gui.plot.summary import summary
from costlab_gui.theme.tokens import current

_TICK_FONT = 0.92
# One press of an arrow key: a tenth of a doubling, or a hundredth of a linear axis.
_STEPS_PER_DOUBLING = 10
_STEPS_LINEAR = 100


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
        self._graphics = Canvas(self._tick_font(), self)
        self._seen = self._graphics.seen
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

    def _connect(self) -> None:
        self._seen.touched.connect(self._touched)
        self._graphics.gestures.pointed.connect(self._point)
        self._graphics.gestures.chosen.connect(self._choose)
        self._graphics.gestures.menu_wanted.connect(self._menu)

    @property
    def spec(self) -> FigureSpec:
        """What is shown."""
        return self._graphics.spec

    def show_figure(self, spec: FigureSpec, empty: str = "") -> None:
        """Draw ``spec``.

        Args:
            spec: what to draw.
            empty: the sentence that stands in the plot if ``spec`` has nothing to draw.
        """
        self._graphics.show_figure(spec)
        drawn = any(series.x for series in spec.series)
        self._empty.setText("" if drawn else empty or _("Nothing to draw."))
        self._empty.setVisible(not drawn)
        self._graphics.setVisible(drawn)
        if self._graphics.curves.antialias:
            self._describe()

    @property
    def seen(self) -> FigureSpec:
        """What is shown, with the part of the axes that the user has zoomed to."""
        spec = self.spec
        if not self.is_zoomed:
            return spec
        return replace(
            spec, x=replace(spec.x, window=self.x_range), y=replace(spec.y, window=self.y_range)
        )

    def set_live(self, live: bool) -> None:
        """Draw faster and coarser while a slider is dragged, and finely again afterwards."""
        self._graphics.curves.antialias = not live
        self._graphics.redraw()
        if not live:
            self._describe()

    def retheme(self) -> None:
        """Take colours and fonts from the theme again."""
        self._graphics.use_font(self._tick_font())

    @property
    def crosshair(self) -> float | None:
        """Where the crosshair is, as a value of x."""
        return self._graphics.crosshair.at

    def set_crosshair(self, value: float | None) -> None:
        """Move the crosshair without telling anyone."""
        if value != self._graphics.crosshair.at:
            self._graphics.place_crosshair(value)
            if self._graphics.curves.antialias:
                self._describe()

    def cuts(self) -> list[tuple[str, float]]:
        """Names of the curves that the crosshair cuts, and the values there."""
        lines = self._graphics.lines
        return [(lines[index].name, value) for index, value in self._graphics.cuts()]

    def choose_curve(self, colour: int | None) -> None:
        """Draw the curves of a colour strongly and write the value at the crosshair beside one."""
        lines = enumerate(self._graphics.lines)
        self._graphics.choose(
            next((i for i, one in lines if one.colour == colour and not one.faint), None)
        )

    def fit(self) -> None:
        """Show everything again and follow the figure from now on."""
        self._seen.release()
        self._seen.show_range(self._graphics.whole_range())
        self.fitted.emit()

    def undo_zoom(self) -> None:
        """Show what was shown before the last zoom or pan."""
        if self._seen.undo() and not self._seen.is_touched:
            self._seen.show_range(self._graphics.whole_range())

    def zoom(self, low: float, high: float) -> None:
        """Show x from ``low`` to ``high`` (values), as if the user had zoomed there."""
        x = to_view([low, high], self.spec.x)
        wanted = (float(x[0]), float(x[1]))
        if wanted != self._seen.range[0]:
            self._seen.zoom_to((wanted, self._seen.range[1]))

    @property
    def is_zoomed(self) -> bool:
        """Whether the user chose the range."""
        return self._seen.is_touched

    @property
    def x_range(self) -> tuple[float, float]:
        """Visible values of x."""
        low, high = self._seen.range[0]
        return from_view(low, self.spec.x), from_view(high, self.spec.x)

    @property
    def y_range(self) -> tuple[float, float]:
        """Visible values of y."""
        low, high = self._seen.range[1]
        return from_view(low, self.spec.y), from_view(high, self.spec.y)

    def pixel(self, x: float, y: float) -> QPoint:
        """Where in this widget a pair of values is drawn."""
        place = QPointF(*self.frame().place(x, y)) + self._graphics.box.topLeft()
        return self._graphics.mapTo(self, place.toPoint())

    def frame(self) -> Frame:
        """Axes and visible range in pixels."""
        return self._graphics.frame()

    def summary(self) -> str:
        """The plot in words."""
        if any(series.x for series in self.spec.series):
            return summary(self.spec, self._graphics.crosshair.at)
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
            if self._graphics.crosshair.at is not None:
                self.crosshair_chosen.emit(self._graphics.crosshair.at)
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

    def _touched(self) -> None:
        self._fit.setVisible(self._seen.is_touched)
        self._fit.raise_()
        if self._seen.is_touched:
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
        at = self._graphics.crosshair.at
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
        cuts, lines = self._graphics.cuts(), self._graphics.lines
        order = [index for index, _value in sorted(cuts, key=lambda cut: -cut[1])]
        order = [index for index in order if not lines[index].faint]
        if not order:
            return
        chosen = self._graphics.curves.chosen
        place = order.index(chosen) + direction if chosen in order else 0
        index = order[min(max(place, 0), len(order) - 1)]
        self._graphics.choose(index)
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
