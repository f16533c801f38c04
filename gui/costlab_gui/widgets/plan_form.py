"""What the Plan page asks for: model and job, the machines, the work, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model import own_devices
from costlab_gui.model.plan import Problem, choices
from costlab_gui.model.plan_fields import (
    FIELDS,
    cluster_fields,
    job_title,
    price_fields,
    work_fields,
)
from costlab_gui.model.to_plan import JOBS
from costlab_gui.theme.icons import set_icon
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.error_line import ErrorLine
from costlab_gui.widgets.plan_field import PlanField, Value

_LETTERS, _LEAST_EM = 16, 24
_AT_ONCE = 4
"""Controls that are made in one piece of idle work."""


class PlanForm(QScrollArea):
    """Shows and changes ``session.plan``; the page computes the answer."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._drag: int | None = None
        self._usual: Mapping[str, str] = {}
        self._problem: Problem | None = None
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.fields: dict[str, PlanField] = {}
        self.is_built = False
        """Whether the controls are there; they take longer than a frame with the page."""

    def build(self) -> None:
        """Make the controls and show the session, a piece after the other."""
        self.job = _box(_("job"))
        for job in JOBS:
            self.job.addItem(job_title(job), job)
        self.model = _box(_("model"))
        self.model.setEditable(True)
        self.model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        models, self._devices = choices()
        self.model.addItems(models)
        completer = QCompleter(models, self.model)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.model.setCompleter(completer)
        self.model_error = ErrorLine(self.model)
        self.open = QToolButton()
        set_role(self.open, "quiet")
        set_icon(self.open, "open")
        self.open.setToolTip(_("Open a config.json"))
        self.open.setAccessibleName(self.open.toolTip())
        self.device = _box(_("device"))
        self.work = Card(_("Work"))
        self.machines = Card(_("Cluster"))
        self.prices = Card(_("Prices"))
        self._lay_out()
        self.job.activated.connect(lambda index: self._change(job=self.job.itemData(index)))
        self.model.activated.connect(lambda _index: self._change(model=self.model.currentText()))
        edit = self.model.lineEdit()
        assert edit is not None
        edit.editingFinished.connect(lambda: self._change(model=self.model.currentText().strip()))
        self.open.clicked.connect(lambda: self.open_config())
        self.device.activated.connect(
            lambda index: self._change(device=self.device.itemData(index))
        )
        self._hub.idle.first(self._build_fields)

    def _build_fields(self) -> None:
        missing = [name for name in _asked(self._hub.session.plan.job) if name not in self.fields]
        for name in missing[:_AT_ONCE]:
            self._field(name)
        if missing[_AT_ONCE:]:
            self._hub.idle.first(self._build_fields)
            return
        self.is_built = True
        self.follow()

    def _lay_out(self) -> None:
        first = Card(_("Model and job"))
        model = QHBoxLayout()
        model.addWidget(self.model, 1)
        model.addWidget(self.open)
        first.body.addLayout(model)
        first.body.addWidget(self.model_error)
        first.body.addWidget(self.job)
        self.machines.body.addWidget(self.device)
        self._inner = inner = QWidget()
        inner.setObjectName("canvas")
        cards = QVBoxLayout(inner)
        cards.setContentsMargins(0, 0, 0, 0)
        cards.setSpacing(8)
        for card in (first, self.machines, self.work, self.prices):
            cards.addWidget(card)
        cards.addStretch(1)
        self.setWidget(inner)

    def _field(self, name: str) -> PlanField:
        """The control of a field, made when a job first needs it."""
        if name not in self.fields:
            field = self.fields[name] = PlanField(FIELDS[name])
            body = self._card(name).body
            # In the order of the fields, whichever job made them first.
            order = list(FIELDS)
            before = [n for n in self.fields if order.index(n) < order.index(name)]
            fixed = 1 if body is self.machines.body else 0
            body.insertWidget(fixed + sum(self._card(n).body is body for n in before), field)
            field.changed.connect(lambda value: self._change(**{name: value}))
            field.pressed.connect(self._begin)
            field.released.connect(self._end)
        return self.fields[name]

    def _card(self, name: str) -> Card:
        if any(name in cluster_fields(job) for job in JOBS):
            return self.machines
        return self.prices if any(name in price_fields(job) for job in JOBS) else self.work

    def follow(self) -> None:
        """Take everything from the session; controls that a job needs first are made first."""
        wish = self._hub.session.plan
        if any(name not in self.fields for name in _asked(wish.job)):
            self.is_built = False
            self._hub.idle.first(self._build_fields)
            return
        blockers = [QSignalBlocker(box) for box in (self.job, self.model, self.device)]
        self.job.setCurrentIndex(self.job.findData(wish.job))
        self.model.setCurrentText(wish.model)
        self.model.setToolTip(wish.model)
        self._show_device(wish.device)
        for blocker in blockers:
            blocker.unblock()
        shown = _asked(wish.job)
        for name in FIELDS:
            if name in shown:
                self._field(name).show_value(getattr(wish, name), self._usual.get(name, ""))
        self._say()
        for name, field in self.fields.items():
            field.setVisible(name in shown)
        self.prices.setVisible(bool(price_fields(wish.job)))
        bar = self.verticalScrollBar().sizeHint().width()
        em = self.fontMetrics().horizontalAdvance("m")
        needed = self._inner.minimumSizeHint().width()
        self.setFixedWidth(max(needed, _LEAST_EM * em) + bar)

    def show_usual(self, usual: Mapping[str, str], problem: Problem | None) -> None:
        """Say what stands in for empty fields, and mark the one that is wrong."""
        self._usual, self._problem = usual, problem
        if self.is_built:
            self._say()

    def _say(self) -> None:
        wish, problem = self._hub.session.plan, self._problem
        wrong, text = ("", "") if problem is None else (problem.field, problem.text)
        self.model_error.say(text if wrong == "model" else "")
        for name, field in self.fields.items():
            field.say(text if wrong == name else "")
            if name in self._usual:
                field.show_value(getattr(wish, name), self._usual[name])

    def open_config(self, name: str = "") -> None:
        """Take a ``config.json``, asked for unless it is given."""
        if not name:
            name, _kind = QFileDialog.getOpenFileName(
                self, _("Open a config"), "", _("Hugging Face config (*.json)")
            )
        if name:
            self._change(model=name)

    def _show_device(self, device: str) -> None:
        found = [*self._devices, *(str(path) for path in own_devices.recent())]
        if device not in found:
            found.append(device)
        if [self.device.itemData(at) for at in range(self.device.count())] != found:
            self.device.clear()
            for name in found:
                title = name.rpartition("/")[2].removesuffix(".toml")
                self.device.addItem(title, name)
        self.device.setCurrentIndex(self.device.findData(device))

    def _begin(self) -> None:
        self._drag = self._hub.new_drag()

    def _end(self) -> None:
        self._drag = None

    def _change(self, **values: Value) -> None:
        wish = self._hub.session.plan
        changed = replace(wish, **values)  # type: ignore[arg-type]
        if changed != wish:
            name = next(iter(values))
            title = FIELDS[name].title if name in FIELDS else name
            self._hub.change(
                _("plan: change {field}").format(field=title), self._drag, plan=changed
            )  # fmt: skip


def _asked(job: str) -> tuple[str, ...]:
    return (*cluster_fields(job), *work_fields(job), *price_fields(job))


def _box(name: str) -> QComboBox:
    box = QComboBox()
    box.setAccessibleName(name)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_LETTERS)
    return box
