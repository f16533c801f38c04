"""The plan page: whether a model fits a cluster, how fast, at what cost, and what binds."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, QSignalBlocker, Qt, QTimer
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSplitter, QVBoxLayout, QWidget

from costlab.figures.spec import AnyFigure, FigureSpec, StackSpec
from costlab.figures.stack_svg import column_span
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.jobs.worker import Worker
from costlab_gui.model.plan import Answer, Problem, ask, choices, usual
from costlab_gui.model.plan_curves import (
    MEMORY,
    TIME,
    Curve,
    chosen,
    curve,
    quantities,
    view_titles,
)
from costlab_gui.model.plan_help import helpful
from costlab_gui.model.plan_origin import origin
from costlab_gui.model.to_plan import ToPlan
from costlab_gui.pages.page import Page
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.empty_state import EmptyState
from costlab_gui.widgets.export_buttons import ExportButtons
from costlab_gui.widgets.origin_dialog import show_origin
from costlab_gui.widgets.plan_form import PlanForm
from costlab_gui.widgets.plan_table import PlanTable
from costlab_gui.widgets.plan_why import PlanWhy
from costlab_gui.widgets.segmented import SegmentedControl
from costlab_gui.widgets.svg_figure import SvgFigure

_FIELDS = frozenset({"plan", "plan_view", "plan_quantity"})
_SHARES = [560, 440]  # of picture and table, to begin with
_PATIENCE_MS = 100


class PlanPage(Page):
    """Inputs at the left, picture and plans in the middle, the reasons of one plan at the right.

    Answers and curves are computed in a thread; those before stay until the next are there.
    """

    key = "plan"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(hub, parent)
        self._answer: Answer | None = None
        self._filled: Answer | Problem | None = None
        self._shown: Answer | Problem | None = None
        self._row = 0
        self._asked = self._drawn = 0  # answers and pictures, the last one counts
        self._help: ToPlan | None = None
        self.form = PlanForm(hub)
        self.choice = SegmentedControl(_("what is shown"))
        self.quantity = QComboBox()
        self.quantity.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.quantity.setAccessibleName(_("quantity of the curve"))
        self.headline = ElidedLabel()
        set_role(self.headline, "strong")
        self.progress = QLabel(_("computing…"))
        set_role(self.progress, "dim")
        self.progress.hide()
        self.plot = SvgFigure()
        self.plot.setAccessibleName(_("plans"))
        self.missing = QLabel()
        self.missing.setWordWrap(True)
        set_role(self.missing, "small")
        self.table = PlanTable()
        self.why = PlanWhy()
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
        self.choice.chosen.connect(lambda keys: hub.change(_("plan: view"), plan_view=keys[0]))
        self.quantity.activated.connect(
            lambda at: hub.change(_("plan: quantity"), plan_quantity=self.quantity.itemData(at))
        )
        self.table.picked.connect(self.pick)
        self.table.asked.connect(self.open_origin)
        self.empty.acted.connect(self._take_help)
        self.plot.clicked.connect(lambda at: self.pick(int(at[0])))
        self.plot.stepped.connect(self._stepped)
        self.plot.installEventFilter(self)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(self.choice)
        head.addWidget(self.quantity)
        head.addWidget(self.progress)
        head.addStretch(1)
        head.addWidget(ExportButtons(self.export_figure, self.copy_figure))
        figure = Card()
        figure.body.addWidget(self.plot, 1)
        figure.body.addWidget(self.missing)
        plans = Card()
        plans.setAccessibleName(_("plans"))
        plans.body.addWidget(self.headline)
        plans.body.addWidget(self.table, 1)
        self._middle = QSplitter(Qt.Orientation.Vertical)
        self._middle.setHandleWidth(8)
        self._middle.setChildrenCollapsible(False)
        self._middle.addWidget(figure)
        self._middle.addWidget(plans)
        self._middle.setSizes(_SHARES)
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
        layout.addWidget(self.why)
        self.columns = (self.form, self.why)

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
    def view(self) -> str:
        """The picture that is shown, of ``model.plan_curves.VIEWS``."""
        titles = view_titles(self.hub.session.plan.job)
        wanted = self.hub.session.plan_view
        return wanted if wanted in titles else MEMORY

    @property
    def is_read(self) -> bool:
        """Whether picture and table show what is asked."""
        read = not self._worker.busy and self._filled is self._shown is not None
        return read and self.form.is_built

    def figure(self) -> AnyFigure | None:
        return self.plot.spec

    def refresh(self, changed: frozenset[str]) -> None:
        first = self._asked == 0
        if not (first or changed & _FIELDS):
            return
        self._follow()
        if first:
            # Names are read in the thread; the controls take longer than a frame with the page.
            self._worker.do(choices, lambda _read: self.hub.idle.first(self.form.build))
        if first or "plan" in changed:
            if self.form.is_built:
                self.form.follow()
            self.compute()
        else:
            self._draw()

    def _follow(self) -> None:
        """Offer the views and quantities of the job."""
        wish, view = self.hub.session.plan, self.view
        self.choice.set_choices(list(view_titles(wish.job).items()))
        self.choice.set_value([view])
        heads = quantities(wish, view)
        self.quantity.setVisible(len(heads) > 1)
        if heads:
            blocker = QSignalBlocker(self.quantity)
            self.quantity.clear()
            for head in heads:
                self.quantity.addItem(head.title, head.key)
            key = chosen(wish, view, self.hub.session.plan_quantity).key
            self.quantity.setCurrentIndex(self.quantity.findData(key))
            blocker.unblock()

    def compute(self) -> None:
        """Have the answer computed, and the curve if one is looked at."""
        wish = self.hub.session.plan
        self._asked += 1
        number = self._asked
        self._patience.start()

        def work() -> tuple[Answer | Problem | None, tuple[str, ToPlan] | None]:
            found = ask(wish) if number == self._asked else None
            return found, helpful(wish, found) if isinstance(found, Problem) else None

        self._worker.do(work, lambda found: self._take(number, *found))

    def _take(
        self, number: int, found: Answer | Problem | None, help_: tuple[str, ToPlan] | None
    ) -> None:
        if found is None or number != self._asked:
            return
        before = self._answer
        self._shown = found
        if isinstance(found, Problem):
            self._answer = None
            self._filled = found
            self._done()
            self.form.show_usual(usual(self.hub.session.plan), found)
            self._help = None if help_ is None else help_[1]
            self._show_nothing(found.text, "" if help_ is None else help_[0])
            return
        self._answer = found
        same = before is not None and before.wish.job == found.wish.job
        if not same or self._row >= len(found.rows):
            self._row = found.best
        self.headline.setText(found.headline)
        self._draw()
        # In pieces of their own: together they take longer than a frame.
        self.hub.idle.first(lambda: self._fill(found))

    def _fill(self, found: Answer) -> None:
        if found is not self._shown:
            return
        self._filled = found
        self.form.show_usual(found.usual, None)
        self.table.show_answer(found, self._row)
        self.why.show_row(found, self._row)

    def _show_nothing(self, why: str, action: str = "") -> None:
        self._middle.hide()
        self.plot.show_figure(None)
        self.empty.show()
        self.empty.say(why, action)
        self.why.show_nothing()

    def _take_help(self) -> None:
        if self._help is not None:
            self.hub.change(self.empty.action.text().lower(), plan=self._help)

    def open_origin(self, row: int, column: int) -> None:
        """Say where a number of the table comes from."""
        answer = self._answer
        if answer is None or not 0 <= row < len(answer.rows):
            return
        head = answer.heads[column]
        self._worker.do(
            lambda: origin(answer, row, head), lambda found: show_origin(found, self.window())
        )

    def pick(self, row: int) -> None:
        """Explain one row."""
        answer = self._answer
        if answer is None or not 0 <= row < len(answer.rows) or row == self._row:
            return
        self._row = row
        self.table.show_answer(answer, row)
        self.why.show_row(answer, row)
        self._outline()

    def _draw(self) -> None:
        """Show the picture of the view; a curve is computed first."""
        answer, view = self._answer, self.view
        if answer is None:
            return
        self._drawn += 1
        if view in (MEMORY, TIME):
            self._done()
            spec = answer.time if view == TIME and answer.time is not None else answer.memory
            self._picture(spec, answer.headline)
            return
        wish, number, asked = answer.wish, self._drawn, self._asked
        key = self.hub.session.plan_quantity
        self._patience.start()

        def wanted() -> bool:
            return number == self._drawn and asked == self._asked

        self._worker.do(
            lambda: curve(wish, view, key, wanted), lambda found: self._take_curve(number, found)
        )

    def _take_curve(self, number: int, found: Curve) -> None:
        if number != self._drawn:
            return
        self._done()
        if found.figure is None:
            self._show_nothing(found.why)
            return
        names = view_titles(self.hub.session.plan.job)
        reasons = [f"{names[self.view]} {at}: {why}" for at, why in found.missing.items()]
        self._picture(found.figure, found.text, "\n".join(reasons))

    def _picture(self, spec: StackSpec | FigureSpec, text: str, missing: str = "") -> None:
        self.plot.show_figure(spec)
        self.plot.setAccessibleDescription(text)
        self.missing.setText(missing)
        self.missing.setVisible(bool(missing))
        self._middle.show()
        self.empty.hide()
        self._outline()

    def _done(self) -> None:
        self._patience.stop()
        self.progress.hide()

    def _outline(self) -> None:
        spec, frame = self.plot.spec, self.plot.frame
        if frame is None or not isinstance(spec, StackSpec):
            return
        left, right = column_span(frame, self._row)
        top = frame.at_y(spec.total(self._row))
        self.plot.outline(QRectF(left - 3, top - 3, right - left + 6, frame.bottom - top + 6))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the outline around its column when the picture takes another size."""
        if watched is self.plot and event.type() == QEvent.Type.Resize:
            self._outline()
        return False

    def _stepped(self, dx: int, dy: int) -> None:
        if self._answer is not None:
            self.pick(min(max(self._row + dx - dy, 0), len(self._answer.rows) - 1))

    def retheme(self) -> None:
        for widget in (self.plot, self.empty, self.table, self.why):
            widget.retheme()
