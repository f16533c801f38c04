"""Limits of memory, time and energy, and how many hands share the work, behind one button."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QFrame,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab.units import format_count, format_value, parse_bytes, parse_joules, parse_seconds
from costlab_gui.hub import Hub
from costlab_gui.model.session import Budget
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.error_line import ErrorLine
from costlab_gui.widgets.log_slider import LogSlider

_REACH = 1024
"""The slider of hands reaches this factor below and above the machine's own number."""


class BudgetControl(QToolButton):
    """Opens the fields of the session's ``budget`` and ``hands``."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(_("Limits"))
        self.setToolTip(_("Budgets of memory, time and energy; width of the machine"))
        self.setAccessibleName(_("Limits"))
        self.popup = BudgetPopup(hub, self)
        self.clicked.connect(self._open)

    def refresh(self) -> None:
        """Show the session; the button says whether any limit is set."""
        session = self.popup.hub.session
        some = session.budget != Budget() or session.hands is not None
        self.setText(_("Limits •") if some else _("Limits"))
        if self.popup.isVisible():
            self.popup.refresh()

    def _open(self) -> None:
        self.popup.refresh()
        self.popup.adjustSize()
        corner = self.mapToGlobal(QPoint(self.width() - self.popup.width(), self.height() + 4))
        self.popup.move(corner)
        self.popup.show()
        self.popup.memory.setFocus(Qt.FocusReason.PopupFocusReason)


class BudgetPopup(QFrame):
    """Three fields with their units, and the width of the machine. Empty fields are no limit."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.hub = hub
        set_role(self, "card")
        self._drag: int | None = None
        self._errors: dict[QLineEdit, ErrorLine] = {}
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        self.memory = self._field(form, _("Memory"), _("e.g. 24 GiB"), self._set_memory)
        self.time = self._field(form, _("Time"), _("e.g. 100 ms"), self._set_time)
        self.energy = self._field(form, _("Energy"), _("e.g. 5 J"), self._set_energy)
        self.wide = QCheckBox(_("Share the work among"))
        self.wide.setToolTip(_("Hands share arithmetic and traffic; the chain of steps stays."))
        self.wide.clicked.connect(self._switch)
        self.slider = LogSlider()
        self.slider.setAccessibleName(_("hands"))
        self.slider.sized.connect(self._set_hands)
        self.slider.sliderPressed.connect(self._press)
        self.slider.sliderReleased.connect(self._release)
        self.told = QLabel()
        set_role(self.told, "small")
        self.told.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(8)
        column.addLayout(form)
        for part in (self.wide, self.slider, self.told):
            column.addWidget(part)
        self.setFixedWidth(26 * self.fontMetrics().horizontalAdvance("m"))

    def refresh(self) -> None:
        """Show the session."""
        budget, hands = self.hub.session.budget, self.hub.session.hands
        for edit, value, unit in (
            (self.memory, budget.memory_bytes, "B"),
            (self.time, budget.time_s, "s"),
            (self.energy, budget.energy_j, "J"),
        ):
            text = "" if value is None else format_value(value, unit)
            if not edit.isModified():
                edit.setText(text)
        own = self._own_width()
        self.wide.setChecked(hands is not None)
        self.wide.setEnabled(own is not None)
        self.slider.setEnabled(hands is not None)
        if own is None:
            self.told.setText(_("The width of the machine is known once there is a time for it."))
            return
        self.slider.set_limits(max(round(own / _REACH), 1), round(own * _REACH))
        self.slider.set_size(round(own if hands is None else hands))
        text = _("{hands} hands; the machine itself has {own}. Where the order turns is listed "
                 "under crossovers.")  # fmt: skip
        shown = round(own if hands is None else hands)
        self.told.setText(text.format(hands=format_count(shown), own=format_count(round(own))))

    def _field(
        self, form: QFormLayout, title: str, hint: str, enter: Callable[[str], None]
    ) -> QLineEdit:
        edit = QLineEdit()
        edit.setPlaceholderText(hint)
        edit.setAccessibleName(title)
        edit.setClearButtonEnabled(True)
        error = ErrorLine(edit)
        self._errors[edit] = error
        edit.editingFinished.connect(lambda: self._enter(edit, enter))
        edit.textChanged.connect(lambda text: None if text else self._enter(edit, enter, True))
        form.addRow(title, edit)
        form.addRow(error)
        return edit

    def _enter(self, edit: QLineEdit, enter: Callable[[str], None], emptied: bool = False) -> None:
        if not edit.isModified() and not emptied:
            return
        try:
            enter(edit.text().strip())
        except ValueError as error:
            self._errors[edit].say(error)
            return
        self._errors[edit].say("")
        edit.setModified(False)

    def _set_memory(self, text: str) -> None:
        value = float(parse_bytes(text if _has_unit(text) else f"{text} GiB")) if text else None
        self._change(_("budget of memory"), memory_bytes=value)

    def _set_time(self, text: str) -> None:
        value = parse_seconds(text if _has_unit(text) else f"{text} ms") if text else None
        self._change(_("budget of time"), time_s=value)

    def _set_energy(self, text: str) -> None:
        self._change(_("budget of energy"), energy_j=parse_joules(text) if text else None)

    def _change(self, what: str, **limit: float | None) -> None:
        budget = replace(self.hub.session.budget, **limit)
        if budget != self.hub.session.budget:
            self.hub.change(_("set the {what}").format(what=what), budget=budget)

    def _switch(self, on: bool) -> None:
        own = self._own_width()
        self.hub.change(_("set the width of the machine"), hands=own if on else None)
        self.refresh()

    def _set_hands(self, hands: int) -> None:
        self.hub.change(_("set the width of the machine"), drag=self._drag, hands=float(hands))
        self.refresh()

    def _press(self) -> None:
        self._drag = self.hub.new_drag()
        self.hub.dragging.emit(True)

    def _release(self) -> None:
        self._drag = None
        self.hub.dragging.emit(False)

    def _own_width(self) -> float | None:
        try:
            return float(self.hub.workspace.machine(self.hub.session.setting).width)
        except CostLabError:
            return None


def _has_unit(text: str) -> bool:
    return bool(text) and not text[-1].isdigit() and text[-1] != "."
