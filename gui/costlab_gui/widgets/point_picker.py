"""A strip of a logarithmic axis on which sizes are picked: click one, or draw over several."""

from __future__ import annotations

import math
from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from costlab.i18n import _
from costlab.units import format_count
from costlab_gui.theme.tokens import current

_CLOSE_EM = 0.7
_TOP_LINES, _HEIGHT_LINES = 0.8, 2.2


class PointPicker(QWidget):
    """Arrow keys move the cursor by a power of two, Space picks or drops it.

    Sizes snap to powers of two; with Shift they are free, to two digits.

    Signals:
        picked: the sizes (tuple of int, ascending) after the user changed them.
    """

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = "n"
        self._low, self._high = 128, 65_536
        self._values: set[int] = set()
        self._cursor = 128
        self._adding: bool | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(False)
        self._tell()

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(sorted(self._values))

    def set_axis(self, name: str, low: int, high: int) -> None:
        """The symbol and the range of the axis; picked sizes beyond it widen it."""
        self._name, self._low, self._high = name, max(low, 1), max(high, low + 1)
        self._cursor = min(max(self._cursor, self._low), self._high)
        self._tell()

    def set_values(self, values: Iterable[int]) -> None:
        """Show these sizes as picked, without telling anybody."""
        self._values = set(values)
        self._tell()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance("m") * 30, round(metrics.height() * _HEIGHT_LINES))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance("m") * 12, self.sizeHint().height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        near = self._near(event.position().x())
        self._adding = near is None
        self._draw(event, near)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._adding is not None:
            self._draw(event, self._near(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        del event
        self._adding = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if step:
            power = round(math.log2(self._cursor)) + step
            low, high = self._range()
            self._cursor = min(max(2 ** max(power, 0), low), high)
            self._tell()
        elif event.key() == Qt.Key.Key_Space:
            self._change(self._cursor, self._cursor not in self._values)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        theme, metrics = current(), self.fontMetrics()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = metrics.height()
        y = line * _TOP_LINES
        left, right = self._ends()
        painter.setPen(QPen(QColor(theme.line), 2))
        painter.drawLine(QPointF(left, y), QPointF(right, y))
        painter.setPen(QColor(theme.dim))
        taken = float("-inf")
        low, high = self._range()
        for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1):
            x, text = self._x(2**power), _short(2**power)
            painter.setPen(QPen(QColor(theme.dim), 1))
            painter.drawLine(QPointF(x, y - 3), QPointF(x, y + 3))
            width = metrics.horizontalAdvance(text)
            start = min(max(x - width / 2, 0.0), self.width() - width)
            if start > taken + metrics.averageCharWidth():
                painter.drawText(QPointF(start, y + line * 1.1), text)
                taken = start + width
        radius = line * 0.26
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.accent))
        for value in self._values:
            painter.drawEllipse(QPointF(self._x(value), y), radius, radius)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.text), 1.5))
            ring = radius * 1.6
            x = self._x(self._cursor)
            painter.drawEllipse(QRectF(x - ring, y - ring, 2 * ring, 2 * ring))
        painter.end()

    def _draw(self, event: QMouseEvent, near: int | None) -> None:
        free = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if self._adding:
            self._change(self._at(event.position().x(), free), True)
        elif near is not None:
            self._change(near, False)

    def _change(self, value: int, wanted: bool) -> None:
        self._cursor = value
        if (value in self._values) == wanted:
            return
        self._values = self._values | {value} if wanted else self._values - {value}
        self._tell()
        self.picked.emit(self.values)

    def _at(self, x: float, free: bool) -> int:
        low, high = self._range()
        left, right = self._ends()
        share = min(max((x - left) / (right - left), 0.0), 1.0)
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        if free:
            return min(max(int(float(f"{value:.2g}")), low), high)
        power = min(
            max(round(math.log2(value)), math.ceil(math.log2(low))), math.floor(math.log2(high))
        )
        return min(max(int(2.0**power), 1), high)

    def _near(self, x: float) -> int | None:
        """The picked size under the mouse."""
        close = _CLOSE_EM * self.fontMetrics().horizontalAdvance("m")
        best = min(self._values, key=lambda value: abs(self._x(value) - x), default=None)
        return best if best is not None and abs(self._x(best) - x) <= close else None

    def _x(self, value: int) -> float:
        low, high = self._range()
        left, right = self._ends()
        share = (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
        return left + share * (right - left)

    def _ends(self) -> tuple[float, float]:
        margin = self.fontMetrics().horizontalAdvance("m")
        return float(margin), float(max(self.width() - margin, margin + 1))

    def _range(self) -> tuple[int, int]:
        return min(self._low, *self._values, self._high), max(self._high, *self._values, self._low)

    def _tell(self) -> None:
        self.setAccessibleName(_("sizes of {name} to measure").format(name=self._name))
        picked = ", ".join(format_count(value) for value in self.values) or _("none")
        self.setAccessibleDescription(
            _("picked: {picked}; cursor at {cursor}").format(
                picked=picked, cursor=format_count(self._cursor)
            )
        )
        self.setToolTip(_("Click picks or drops a size, dragging draws; Shift frees it."))
        self.update()


def _short(value: int) -> str:
    """ "8k" for 8192."""
    for factor, unit in ((2**20, "M"), (2**10, "k")):
        if value >= factor and value % factor == 0:
            return f"{value // factor}{unit}"
    return str(value)
