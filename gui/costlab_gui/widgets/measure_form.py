"""What to measure: sizes typed or picked, repeats, budget, energy; how long it takes; Start."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from costlab.errors import CostLabError, InputError
from costlab.i18n import _
from costlab.units import parse_seconds
from costlab_gui.hub import Hub
from costlab_gui.model import duration
from costlab_gui.model.calibration import threads_text
from costlab_gui.model.measure import MeasurePlan, Wish, device_here
from costlab_gui.model.session import REPEATS, ToMeasure
from costlab_gui.model.size_lists import first_values, values_of, values_text
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.error_line import ErrorLine
from costlab_gui.widgets.point_picker import PointPicker

_SETTLE_MS = 150


class MeasureForm(Card):
    """Shows and changes ``session.measure``; the page plans it and calls :meth:`show_plan`.

    Signals:
        changed: the wish is another one (at most a few times a second).
        started: Start was pressed.
    """

    changed = Signal()
    started = Signal()

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(_("What to measure"), parent)
        self._hub = hub
        self._edited = False
        self._drag = hub.new_drag()
        self.programs = ElidedLabel()
        set_role(self.programs, "dim")
        self.values = QLineEdit()
        self.values.setPlaceholderText("256:8k:x2, 5000")
        self.values.setToolTip(_("sizes as on the command line: 256,512 or 256:8k:x2"))
        set_role(self.values, "number")
        self.picker = PointPicker()
        self.repeats = QSpinBox()
        self.repeats.setRange(*REPEATS)
        self.repeats.setValue(5)
        self.repeats.setToolTip(_("timed processes of each point"))
        self.budget = QLineEdit()
        self.budget.setPlaceholderText(_("no limit"))
        self.budget.setToolTip(_("for all points together: 90, 2m, 1h"))
        self.energy = QCheckBox(_("Energy"))
        self.whole = QCheckBox(_("Measure those too"))
        self.start = QPushButton(_("Start"))
        set_role(self.start, "primary")
        self.summary = QLabel()
        self.summary.setToolTip(duration.basis())
        self.left_out = QLabel()
        self.left_out.setWordWrap(True)
        set_role(self.left_out, "warning")
        self.error = ErrorLine(self.values)
        self._lay_out()
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(_SETTLE_MS)
        self._settle.timeout.connect(self._settled)
        self.values.textEdited.connect(self._typed)
        self.picker.picked.connect(self._picked)
        self.repeats.valueChanged.connect(self._settle.start)
        self.budget.textEdited.connect(self._settle.start)
        self.energy.toggled.connect(self._settle.start)
        self.whole.toggled.connect(self._settle.start)
        self.start.clicked.connect(self.started)

    def _lay_out(self) -> None:
        em = self.fontMetrics().horizontalAdvance("m")
        self.budget.setFixedWidth(7 * em)
        self._label = QLabel()
        self._label.setBuddy(self.values)
        first = QHBoxLayout()
        first.setSpacing(8)
        for text, widget in (
            (self._label, self.values), (QLabel(_("Repeats")), self.repeats),
            (QLabel(_("Budget")), self.budget),
        ):  # fmt: skip
            text.setBuddy(widget)
            first.addWidget(text)
            first.addWidget(widget, 1 if widget is self.values else 0)
        self.repeats.setAccessibleName(_("repeats"))
        self.budget.setAccessibleName(_("budget for all points"))
        first.addWidget(self.energy)
        last = QHBoxLayout()
        last.setSpacing(8)
        last.addWidget(self.summary)
        last.addStretch(1)
        last.addWidget(self.start)
        left = QHBoxLayout()
        left.addWidget(self.left_out, 1)
        left.addWidget(self.whole)
        self.body.addWidget(self.programs)
        self.body.addLayout(first)
        self.body.addWidget(self.picker)
        self.body.addWidget(self.error)
        self.body.addLayout(left)
        self.body.addLayout(last)

    def wish(self) -> Wish:
        """What is asked for.

        Raises:
            InputError: if the budget is no duration.
        """
        text = self.budget.text().strip()
        try:
            budget_s = parse_seconds(text) if text else None
        except ValueError as error:
            raise InputError(_("cannot read the budget"), given=str(error)) from None
        return Wish(
            self.values.text(), self.repeats.value(), budget_s,
            self.energy.isEnabled() and self.energy.isChecked(),
            self.whole.isChecked(),
        )  # fmt: skip

    @property
    def asked(self) -> ToMeasure:
        """What stands here, as the session has it."""
        return ToMeasure(
            self._hub.session.over if self._edited else "",
            self.values.text() if self._edited else "",
            self.repeats.value(),
            self.budget.text(),
            self.energy.isChecked(),
            self.whole.isChecked(),
        )

    def follow(self) -> None:
        """Take programs, setting and axis from the session."""
        session = self._hub.session
        self._label.setText(_("Sizes of {name}").format(name=session.over))
        self.values.setAccessibleName(_("sizes of {name} to measure").format(name=session.over))
        self.picker.set_axis(session.over, session.low, session.high)
        if not self._settle.isActive():  # else the user is typing
            self._take(session.measure)
        metered = device_here(session.setting) != "cpu"
        self.energy.setEnabled(metered)
        self.energy.setToolTip(
            _("takes 17 s more for each point") if metered
            else _("energy is measured on a GPU only: the CPU has no meter for one process")
        )  # fmt: skip
        titles = ", ".join(map(self._hub.workspace.title, session.shown))
        setting = session.setting
        self.programs.setText(
            _("{mode}, {dtype}, {device}, {threads} · {programs}").format(
                programs=titles or _("no architecture"),
                mode=setting.mode,
                dtype=setting.dtype,
                device=device_here(setting),
                threads=threads_text(self._hub.workspace.threads(session.setting)),
            )
        )

    def show_plan(self, plan: MeasurePlan) -> None:
        """Say how long it takes and what is left out."""
        self.error.say("")
        self.summary.setText(plan.summary())
        self.start.setEnabled(bool(plan.points))
        reasons = dict.fromkeys(one.why for one in plan.left_out)
        more = _(" and more") if len(reasons) > 1 else ""
        text = _("{count} left out: {why}{more}").format(
            count=len(plan.left_out), why=next(iter(reasons), ""), more=more
        )
        self.left_out.setText(text if plan.left_out else "")
        self.left_out.setToolTip("\n".join(reasons))
        self.left_out.setVisible(bool(plan.left_out))
        self.whole.setVisible(bool(plan.left_out) or self.whole.isChecked())

    def show_error(self, error: CostLabError | str) -> None:
        """Say why nothing can be measured."""
        self.error.say(error)
        self.summary.setText("")
        self.left_out.hide()
        self.whole.setVisible(self.whole.isChecked())
        self.start.setEnabled(False)

    def _take(self, wanted: ToMeasure) -> None:
        """Show what the session asks for."""
        session = self._hub.session
        self._edited = bool(wanted.sizes) and wanted.over == session.over
        values = wanted.sizes if self._edited else first_values(session)
        fields = (self.values, self.budget, self.repeats, self.energy, self.whole)
        blockers = [QSignalBlocker(field) for field in fields]
        for line, text in ((self.values, values), (self.budget, wanted.budget)):
            if line.text() != text:
                line.setText(text)
        self.repeats.setValue(wanted.repeats)
        self.energy.setChecked(wanted.energy)
        self.whole.setChecked(wanted.all)
        for blocker in blockers:
            blocker.unblock()
        self._show_picked()

    def _settled(self) -> None:
        """Nothing was typed for a moment: the session asks for what stands here."""
        asked = self.asked
        if asked != self._hub.session.measure:
            self._hub.change(_("change what to measure"), drag=self._drag, measure=asked)
        self.changed.emit()

    def _typed(self) -> None:
        self._edited = True
        self._show_picked()
        self._settle.start()

    def _picked(self, values: tuple[int, ...]) -> None:
        self._edited = True
        self.values.setText(values_text(values))
        self._settle.start()

    def _show_picked(self) -> None:
        try:
            self.picker.set_values(values_of(self._hub.session, self.values.text()))
        except CostLabError:
            self.picker.set_values(())
