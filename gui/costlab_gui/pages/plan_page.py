"""The plan page: whether a model fits a cluster, how fast, at what cost, and what binds."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QScrollArea, QSplitter, QVBoxLayout, QWidget

from costlab.figures.spec import AnyFigure, StackSpec
from costlab.figures.stack_svg import column_span
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.jobs.worker import Worker
from costlab_gui.model.plan import Answer, Problem, ask
from costlab_gui.pages.page import Page
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.empty_state import EmptyState
from costlab_gui.widgets.export_buttons import ExportButtons
from costlab_gui.widgets.fact_list import FactList
from costlab_gui.widgets.plan_form import PlanForm
from costlab_gui.widgets.plan_table import PlanTable
from costlab_gui.widgets.reason_list import ReasonList
from costlab_gui.widgets.segmented import SegmentedControl
from costlab_gui.widgets.svg_figure import SvgFigure

MEMORY, TIME = "memory", "time"
_SHARES = [560, 440]  # of picture and table, to begin with
_PATIENCE_MS = 100
_WHY_EM = 20


class PlanPage(Page):
    """Inputs at the left, picture and plans in the middle, the reasons of one plan at the right.

    Answers are computed in a thread; the one before stays until the next is there.
    """

    key = "plan"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(hub, parent)
        self._answer: Answer | None = None
        self._filled: Answer | Problem | None = None
        self._shown: Answer | Problem | None = None
        self._row = 0
        self._number = 0
        self.form = PlanForm(hub)
        self.choice = SegmentedControl(_("what is shown"))
        self.choice.set_choices([(MEMORY, _("Memory")), (TIME, _("Time"))])
        self.choice.set_value([MEMORY])
        self.headline = QLabel()
        self.headline.setWordWrap(True)
        set_role(self.headline, "strong")
        self.progress = QLabel(_("computing…"))
        set_role(self.progress, "dim")
        self.progress.hide()
        self.plot = SvgFigure()
        self.plot.setAccessibleName(_("plans"))
        self.table = PlanTable()
        self.facts = FactList(_("the plan in short"))
        self.reasons = ReasonList(_("reasons"))
        self.notes = ReasonList(_("assumptions"))
        self.empty = EmptyState("info", "")
        self.empty.hide()
        self._lay_out()
        self._worker = Worker(hub.tell, self)
        hub.closing.connect(self._worker.stop)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(_PATIENCE_MS)
        self._patience.timeout.connect(self.progress.show)
        hub.closing.connect(self._patience.stop)
        self.choice.chosen.connect(lambda _keys: self._draw())
        self.table.picked.connect(self.pick)
        self.plot.clicked.connect(lambda at: self.pick(int(at[0])))
        self.plot.stepped.connect(self._stepped)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(self.choice)
        head.addWidget(self.progress)
        head.addStretch(1)
        head.addWidget(ExportButtons(self.export_figure, self.copy_figure))
        figure = Card()
        figure.body.addWidget(self.headline)
        figure.body.addWidget(self.plot, 1)
        plans = Card(_("Plans"))
        plans.body.addWidget(self.table, 1)
        self._middle = QSplitter(Qt.Orientation.Vertical)
        self._middle.setHandleWidth(8)
        self._middle.setChildrenCollapsible(False)
        self._middle.addWidget(figure)
        self._middle.addWidget(plans)
        self._middle.setSizes(_SHARES)
        why = Card(_("This plan"))
        why.body.addWidget(self.facts)
        why.body.addWidget(self.reasons)
        why.body.addWidget(self.notes)
        why.body.addStretch(1)
        self._why = QScrollArea()
        self._why.setWidgetResizable(True)
        self._why.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._why.setWidget(why)
        self._why.setFixedWidth(_WHY_EM * self.fontMetrics().horizontalAdvance("m"))
        middle = QVBoxLayout()
        middle.setSpacing(8)
        middle.addLayout(head)
        middle.addWidget(self._middle, 1)
        middle.addWidget(self.empty, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self.form)
        layout.addLayout(middle, 1)
        layout.addWidget(self._why)
        self.columns = (self.form, self._why)

    @property
    def title(self) -> str:
        return _("Plan")

    @property
    def answer(self) -> Answer | None:
        """What is shown; None while there is none."""
        return self._answer

    @property
    def row(self) -> int:
        """The row of the answer that is explained."""
        return self._row

    @property
    def is_read(self) -> bool:
        """Whether picture and table show what is asked."""
        return not self._worker.busy and self._filled is self._shown is not None

    def figure(self) -> AnyFigure | None:
        return self.plot.spec

    def refresh(self, changed: frozenset[str]) -> None:
        if changed and "plan" not in changed:
            return
        self.form.follow()
        self.compute()

    def compute(self) -> None:
        """Have the answer computed."""
        wish = self.hub.session.plan
        self._number += 1
        number = self._number
        self._patience.start()
        self._worker.do(
            lambda: ask(wish) if number == self._number else None,
            lambda found: self._take(number, found),
        )

    def _take(self, number: int, found: Answer | Problem | None) -> None:
        if found is None or number != self._number:
            return
        self._patience.stop()
        self.progress.hide()
        before = self._answer
        self._shown = found
        if isinstance(found, Problem):
            self._answer = None
            self._filled = found
            self.form.show_problem(found)
            self._show_nothing(found.text)
            return
        self._answer = found
        self.form.show_problem(None)
        same = before is not None and before.wish.job == found.wish.job
        if not same or self._row >= len(found.rows):
            self._row = found.best
        self._middle.show()
        self.empty.hide()
        self.headline.setText(found.headline)
        self.choice.set_usable(TIME, found.time is not None, _("causes are not known of this job"))
        self._draw()
        # In pieces of their own: together they take longer than a frame.
        self.hub.idle.first(lambda: self._fill(found))

    def _fill(self, found: Answer) -> None:
        if found is not self._shown:
            return
        self._filled = found
        self.form.show_usual(found.usual)
        self.table.show_answer(found, self._row)
        self.notes.show_reasons([(_("Assumed"), "; ".join(found.assumptions))])
        self._explain()

    def _show_nothing(self, why: str) -> None:
        self._middle.hide()
        self.facts.show_facts(())
        self.reasons.show_reasons([(_("What binds"), why)])
        self.notes.show_reasons(())
        self.plot.show_figure(None)
        self.empty.show()
        self.empty.say(why)

    def pick(self, row: int) -> None:
        """Explain one row."""
        answer = self._answer
        if answer is None or not 0 <= row < len(answer.rows) or row == self._row:
            return
        self._row = row
        self.table.show_answer(answer, row)
        self._explain()
        self._outline()

    def _explain(self) -> None:
        if self._answer is not None:
            self.facts.show_facts(self._answer.facts[self._row])
            self.reasons.show_reasons(self._answer.reasons[self._row])

    def _draw(self) -> None:
        answer = self._answer
        if answer is None:
            return
        spec = answer.time if self.choice.value[0] == TIME and answer.time else answer.memory
        self.plot.show_figure(spec)
        self.plot.setAccessibleDescription(answer.headline)
        self._outline()

    def _outline(self) -> None:
        spec, frame = self.plot.spec, self.plot.frame
        if frame is None or not isinstance(spec, StackSpec):
            return
        left, right = column_span(frame, self._row)
        top = frame.at_y(spec.total(self._row))
        self.plot.outline(QRectF(left - 3, top - 3, right - left + 6, frame.bottom - top + 6))

    def _stepped(self, dx: int, dy: int) -> None:
        if self._answer is not None:
            self.pick(min(max(self._row + dx - dy, 0), len(self._answer.rows) - 1))

    def retheme(self) -> None:
        self.plot.retheme()
        self.empty.retheme()
        self.table.retheme()
        self.reasons.retheme()
        self.notes.retheme()
