"""One field of a plan: its name, the control that its kind needs, and what is wrong with it."""

from __future__ import annotations

from typing import Union

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from costlab.i18n import _
from costlab.units import parse_count
from costlab_gui.model.plan_fields import CHOICE, FLAG, SIZE, Field
from costlab_gui.model.sizes import SizeLine
from costlab_gui.model.snapping import Snap
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.error_line import ErrorLine
from costlab_gui.widgets.size_control import SizeControl

Value = Union[str, bool]
_SYMBOL, _TITLE_EM = "prompt", 8
_SNAP = Snap()


class PlanField(QWidget):
    """Shows and changes one text; an empty one stands for what is usual.

    Signals:
        changed: the new value (str or bool), at every step of a drag too.
        pressed, released: a drag begins, ends.
    """

    changed = Signal(object)
    pressed = Signal()
    released = Signal()

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = field
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self._value: Value = ""
        self.slider: SizeControl | None = None
        self.line: QLineEdit | None = None
        self.choice: QComboBox | None = None
        self.flag: QCheckBox | None = None
        if field.kind == SIZE:
            self.slider = SizeControl(field.title, _SYMBOL)
            self.slider.sized.connect(lambda size: self.changed.emit(str(size)))
            self.slider.pressed.connect(self.pressed)
            self.slider.released.connect(self.released)
            layout.addWidget(self.slider)
            self._error = ErrorLine(self.slider)
        elif field.kind == FLAG:
            self.flag = QCheckBox(field.title)
            self.flag.setToolTip(field.hint)
            self.flag.toggled.connect(self.changed.emit)
            layout.addWidget(self.flag)
            self._error = ErrorLine(self.flag)
        else:
            control = self._choice() if field.kind == CHOICE else self._line()
            control.setToolTip(field.hint)
            control.setAccessibleName(f"{field.title}, {field.hint}")
            label = QLabel(field.title)
            set_role(label, "dim")
            label.setBuddy(control)
            label.setFixedWidth(_TITLE_EM * self.fontMetrics().horizontalAdvance("m"))
            row = QHBoxLayout()
            row.setSpacing(8)
            row.addWidget(label)
            row.addWidget(control, 1)
            layout.addLayout(row)
            self._error = ErrorLine(control)
        layout.addWidget(self._error)

    def show_value(self, value: Value, usual: str = "") -> None:
        """Show what is asked for, and what stands in where it is empty; tells nobody."""
        self._value = value
        usual = usual or self.field.usual
        if self.slider is not None:
            self._show_size(str(value), usual)
        elif self.line is not None:
            if not self.line.isModified() and self.line.text() != value:
                self.line.setText(str(value))
            self.line.setPlaceholderText(usual)
        elif self.choice is not None:
            blocker = QSignalBlocker(self.choice)
            self.choice.setItemText(0, usual or _("default"))
            self.choice.setCurrentIndex(max(self.choice.findData(value), 0))
            blocker.unblock()
        elif self.flag is not None:
            blocker = QSignalBlocker(self.flag)
            self.flag.setChecked(bool(value))
            blocker.unblock()

    def say(self, problem: str) -> None:
        """Show what is wrong; "" nothing."""
        self._error.say(problem)

    def _line(self) -> QLineEdit:
        self.line = line = QLineEdit()
        set_role(line, "number")
        line.setAlignment(Qt.AlignmentFlag.AlignRight)
        line.editingFinished.connect(self._entered)
        return line

    def _choice(self) -> QComboBox:
        self.choice = box = QComboBox()
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(8)
        for name in self.field.choices:
            box.addItem(name, name)
        box.activated.connect(lambda index: self.changed.emit(box.itemData(index)))
        return box

    def _entered(self) -> None:
        assert self.line is not None
        self.line.setModified(False)
        if self.line.text() != self._value:
            self.changed.emit(self.line.text().strip())

    def _show_size(self, text: str, usual: str) -> None:
        assert self.slider is not None
        try:
            value = parse_count(text or usual)
        except ValueError:
            return
        field = self.field
        line = SizeLine(
            field.title, field.hint, "", value, field.low, field.high, _SNAP, (_("the plan"),)
        )  # fmt: skip
        self.slider.show_line(line, _SNAP)
