"""One size: its symbol, a slider, the exact value, its meaning, and what is wrong with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from costlab.errors import SizeError
from costlab.i18n import _
from costlab_gui.model.sizes import SizeLine
from costlab_gui.model.snapping import Snap
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.error_line import ErrorLine
from costlab_gui.widgets.log_slider import LogSlider
from costlab_gui.widgets.size_edit import SizeEdit

_STEP = 2**0.1


class SizeControl(QWidget):
    """A value beyond the slider's range widens the range; it never shrinks again.

    Args:
        name: the symbol.
        room: the longest symbol of the controls it stands among.

    Signals:
        pressed, released: a drag begins, ends.
        sized: the size that the user chose (object), while dragging as well.
    """

    pressed = Signal()
    released = Signal()
    sized = Signal(object)

    def __init__(self, name: str, room: str = "mm", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._symbol = QLabel(name)
        set_role(self._symbol, "mono")
        self.slider = LogSlider()
        self.edit = SizeEdit(name)
        self.edit.setFixedWidth(self.edit.room())
        self._meaning = ElidedLabel()
        set_role(self._meaning, "small")
        self._error = ErrorLine(self.edit)
        self._shown: tuple[SizeLine, Snap] | None = None
        self._problem = self._refused = ""
        self._widest: tuple[int, int] | None = None
        self._symbol.setMinimumWidth(self._symbol.fontMetrics().horizontalAdvance(room))
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(8)
        layout.setVerticalSpacing(0)
        middle = Qt.AlignmentFlag.AlignVCenter
        layout.addWidget(self._symbol, 0, 0, middle)
        layout.addWidget(self.slider, 0, 1, middle)
        layout.addWidget(self.edit, 0, 2, middle)
        layout.addWidget(self._meaning, 1, 1, 1, 2)
        layout.addWidget(self._error, 2, 1, 1, 2)
        layout.setColumnStretch(1, 1)
        self.slider.sliderPressed.connect(self.pressed)
        self.slider.sliderReleased.connect(self.released)
        self.slider.sized.connect(self._slid)
        self.edit.typed.connect(self._typed)
        self.edit.refused.connect(self._refuse)
        self.edit.stepped.connect(lambda way: self.slider.step(_STEP if way > 0 else 1 / _STEP))

    def show_line(self, line: SizeLine, snap: Snap) -> None:
        """Show a size as it is now, without telling anybody."""
        if (line, snap) == self._shown and not self._refused:
            return
        before, self._shown = self._shown, (line, snap)
        low, high = min(line.low, line.value), max(line.high, line.value)
        if self._widest is not None and line.high == self._widest[1]:
            low, high = min(low, self.slider.limits[0]), max(high, self.slider.limits[1])
        self._widest = (line.low, line.high)
        if (low, high) != self.slider.limits:
            self.slider.set_limits(low, high)
        self.slider.set_snap(snap)
        self.slider.set_size(line.value)
        self.edit.set_size(line.value)
        if before is None or _words(before[0]) != _words(line):
            self._name(line)
        if before is None or before[0].value != line.value:
            self._refused = ""
        self._problem = line.problem
        self._say()

    def _name(self, line: SizeLine) -> None:
        name = f"{line.name}, {line.meaning}"
        tip = _("{meaning} ({unit}), of {programs}").format(
            meaning=line.meaning, unit=line.unit or _("count"), programs=", ".join(line.used_by)
        )
        self._meaning.setText(line.meaning)
        self._meaning.setToolTip(tip)
        self._symbol.setToolTip(tip)
        self.slider.setAccessibleName(_("{name}, slider").format(name=name))
        self.edit.setAccessibleName(name)

    def _slid(self, size: int) -> None:
        self.edit.setModified(False)
        self._typed(size)
        self.edit.set_size(size)

    def _typed(self, size: int) -> None:
        self._refused = ""
        self._say()
        self.sized.emit(size)

    def _refuse(self, error: SizeError) -> None:
        self._refused = str(error)
        self._say()

    def _say(self) -> None:
        text = self._refused or self._problem
        self._error.say(text)
        self._meaning.setVisible(not text)


def _words(line: SizeLine) -> tuple[str, str, tuple[str, ...]]:
    return line.meaning, line.unit, line.used_by
