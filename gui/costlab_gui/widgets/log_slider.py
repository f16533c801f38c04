"""A slider over sizes on a logarithmic scale that stops at sensible ones."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider, QWidget

from costlab.units import format_count
from costlab_gui.model.snapping import Snap, notch, size_at

_TENTH, _TWICE = 2**0.1, 2.0


class LogSlider(QSlider):
    """A plain slider with 100 notches per doubling, which holds the exact size beside.

    Dragging stops at the sizes of :class:`Snap`; with Shift it is free. Arrows change the size by
    a tenth of a doubling, Page Up and Page Down by a factor of two.

    Signals:
        sized: the size that the user chose (object: it may exceed 32 bits).
    """

    sized = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._low, self._high, self._size = 1, 2, 1
        self._snap = Snap()
        self._free = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.actionTriggered.connect(self._acted)
        self.set_limits(1, 2)

    @property
    def size_value(self) -> int:
        """The size, exact: it may lie between two notches."""
        return self._size

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest size of the slider."""
        return self._low, self._high

    def set_limits(self, low: int, high: int) -> None:
        """Set the ends of the scale."""
        self._low, self._high = low, max(high, low + 1)
        blocked = self.blockSignals(True)
        self.setRange(notch(self._low), notch(self._high))
        self.setValue(notch(self._size))
        self.blockSignals(blocked)

    def set_snap(self, snap: Snap) -> None:
        """Set the sizes that dragging stops at."""
        self._snap = snap

    def set_size(self, size: int) -> None:
        """Move the knob to a size, without telling anybody."""
        self._size = size
        self.setAccessibleDescription(format_count(size))
        if not self.isSliderDown():
            blocked = self.blockSignals(True)
            self.setValue(notch(size))
            self.blockSignals(blocked)
            self.update()

    def step(self, factor: float) -> None:
        """Multiply the size as a key does, and tell."""
        self._choose(self._snap.stepped(self._size, factor, self._low, self._high))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = Qt.Key
        factors = {
            keys.Key_Right: _TENTH,
            keys.Key_Up: _TENTH,
            keys.Key_Left: 1 / _TENTH,
            keys.Key_Down: 1 / _TENTH,
            keys.Key_PageUp: _TWICE,
            keys.Key_PageDown: 1 / _TWICE,
        }
        key = keys(event.key())
        if key in factors:
            self.step(factors[key])
        elif key == keys.Key_Home:
            self._choose(self._low)
        elif key == keys.Key_End:
            self._choose(self._high)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._free = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        jumps = event.button() == Qt.MouseButton.LeftButton and self._bring_knob(event)
        super().mousePressEvent(event)
        if jumps:
            self._follow()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._free = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        super().mouseMoveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        # The wheel scrolls the panel; sizes changed by passing over them would surprise.
        event.ignore()

    def _bring_knob(self, event: QMouseEvent) -> bool:
        """Put the knob under the mouse, so that pressing the groove starts a drag there.

        Returns:
            Whether it was elsewhere.
        """
        x = event.position().toPoint().x()
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        control, parts = QStyle.ComplexControl.CC_Slider, QStyle.SubControl
        handle = self.style().subControlRect(control, option, parts.SC_SliderHandle, self)
        if handle.left() <= x <= handle.right():
            return False
        groove = self.style().subControlRect(control, option, parts.SC_SliderGroove, self)
        blocked = self.blockSignals(True)
        self.setValue(
            QStyle.sliderValueFromPosition(
                self.minimum(),
                self.maximum(),
                x - groove.left() - handle.width() // 2,
                groove.width() - handle.width(),
            )
        )
        self.blockSignals(blocked)
        return True

    def _acted(self, action: int) -> None:
        if action == QSlider.SliderAction.SliderMove.value:
            self._follow()

    def _follow(self) -> None:
        """Take the size of the knob's position, and put the knob where that size is."""
        self._choose(self._dragged(self.sliderPosition()))
        self.setSliderPosition(notch(self._size))

    def _dragged(self, position: int) -> int:
        if position <= self.minimum():
            wanted: float = self._low
        elif position >= self.maximum():
            wanted = self._high
        else:
            wanted = size_at(position)
        stop = self._snap.valid if self._free else self._snap.nearest
        return stop(wanted, self._low, self._high)

    def _choose(self, size: int) -> None:
        if size != self._size:
            self.set_size(size)
            self.sized.emit(size)
