"""The runs of the store in three views: points of one run, all runs, predicted against measured."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from costlab.i18n import _
from costlab_gui import tasks
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.model.jobs import DONE, RUNNING
from costlab_gui.model.measured import Rows
from costlab_gui.model.runs import LATEST, RunLine
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.agreement_view import AgreementView
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.points_table import PointsTable
from costlab_gui.widgets.run_list import RunList
from costlab_gui.widgets.segmented import SegmentedControl

POINTS, RUNS, AGREEMENT = "points", "runs", "agreement"


class RunsView(Card):
    """``run`` is the one that is looked at; the newest until another one is chosen."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._hub = hub
        self._run = LATEST
        self._job: JobProcess | None = None
        self._compared: tuple[str, int] | None = None
        self._rows = Rows(hub.workspace)
        self.views = SegmentedControl(
            _("view"),
            [(POINTS, _("Points")), (RUNS, _("Runs")), (AGREEMENT, _("Against prediction"))],
        )
        self.views.set_value([POINTS])
        self.name = ElidedLabel()
        set_role(self.name, "dim")
        self.resume = QPushButton(_("Resume"))
        self.retry = QPushButton(_("Retry failed"))
        self.take = QPushButton(_("Import"))
        self.give = QPushButton(_("Export"))
        self.table = PointsTable(hub.workspace.title)
        self.list = RunList(hub)
        self.agreement = AgreementView(hub.workspace.title)
        self.stack = QStackedWidget()
        for widget in (self.table, self.list, self.agreement):
            self.stack.addWidget(widget)
        first = QHBoxLayout()
        first.setSpacing(8)
        first.addWidget(self.views)
        first.addStretch(1)
        for button in (self.resume, self.retry, self.take, self.give):
            first.addWidget(button)
        self.body.addLayout(first)
        self.body.addWidget(self.name)
        self.body.addWidget(self.stack, 1)
        self.views.chosen.connect(lambda keys: self.show_view(keys[0]))
        self.list.chosen.connect(self.look_at)
        self.resume.clicked.connect(lambda: self.go_on())
        self.retry.clicked.connect(lambda: self.go_on(retry_failed=True))
        self.take.clicked.connect(lambda: self.import_file())
        self.give.clicked.connect(lambda: self.export())

    @property
    def line(self) -> RunLine | None:
        """The run that is looked at."""
        self._hub.runs.lines  # noqa: B018 - reads the store once
        return self._hub.runs.runs.line(self._run)

    def show_view(self, key: str) -> None:
        """Show one of the views."""
        self.views.set_value([key])
        self.stack.setCurrentIndex([POINTS, RUNS, AGREEMENT].index(key))
        if key == AGREEMENT:
            self._compare()

    def look_at(self, run: str) -> None:
        """Look at another run."""
        self._run = run
        self._hub.runs.read_also(run)
        self.refresh()

    def watch(self, process: JobProcess) -> None:
        """Look at what a measurement brings."""
        self._job = process
        self._run = LATEST
        self.show_view(POINTS)
        self.refresh()

    def progressed(self, process: JobProcess) -> None:
        """A job is further, or has ended."""
        if process is not self._job:
            return
        run = process.job.progress.facts.get("run")
        if isinstance(run, str) and run != self._run:
            self._hub.runs.look()
            if self._hub.runs.runs.line(run) is not None:
                self._run = run
                self._hub.runs.read_also(run)
        self.refresh()

    def refresh(self, *, renewed: bool = False) -> None:
        """Show the store as it is; ``renewed`` when predictions have changed."""
        if renewed:
            self._rows.forget()
            self._compared = None
        line, problem = self.line, self._hub.runs.problem
        busy = any(one.job.command.alone for one in self._hub.jobs.active)
        mine = line is not None and not line.running and not line.elsewhere and not busy
        self.resume.setEnabled(mine and line is not None and line.left > 0)
        self.retry.setEnabled(mine and line is not None and line.failed > 0)
        self.give.setEnabled(line is not None)
        if problem:
            set_role(self.name, "error")
            self.name.setText(problem)
        else:
            set_role(self.name, "dim")
            self.name.setText(
                f"{line.run} · {line.state()}" if line else _("Nothing is measured yet.")
            )
        self.list.refresh(line.run if line else "")
        store = self._hub.runs.runs
        if line is not None:
            self.table.set_rows(
                self._rows.of(store.plan(line.run), self._hub.runs.points(line.run), self._now())
            )
        else:
            self.table.set_rows([])
        if self.views.value == (AGREEMENT,):
            self._compare()

    def viewport_update(self) -> None:
        """Paint again in other colours."""
        self.table.viewport().update()

    def go_on(self, *, retry_failed: bool = False) -> None:
        """Resume the run that is looked at, or measure again what failed."""
        if self.line is not None:
            self._job = tasks.go_on(self._hub, self.line.run, retry_failed=retry_failed)
            self.refresh()

    def import_file(self, path: Path | None = None) -> None:
        """Import a run, asking for its file unless it is given."""
        if path is None:
            name, _kind = QFileDialog.getOpenFileName(
                self, _("Import run"), "", _("Runs (*.json *.jsonl *.sqlite)")
            )
            if not name:
                return
            path = Path(name)
        tasks.import_file(self._hub, path)

    def export(self, path: Path | None = None) -> None:
        """Export the run that is looked at, asking for a file unless it is given."""
        if self.line is None:
            return
        if path is None:
            name, _kind = QFileDialog.getSaveFileName(
                self, _("Export run"), f"{self.line.run}.json",
                _("Runs (*.json *.jsonl *.csv *.parquet)"),
            )  # fmt: skip
            if not name:
                return
            path = Path(name)
        tasks.export_run(self._hub, self.line.run, path)

    def _now(self) -> tuple[str, str] | None:
        """The point that is being measured."""
        if self._job is None or self._job.job.state != RUNNING:
            return None
        facts = self._job.job.progress.facts
        return (facts["target"], facts["sizes"]) if "target" in facts else None

    def _compare(self) -> None:
        """Compare in a child when the run has other points than were compared last."""
        line = self.line
        if line is None or not line.done:
            self._compared = None
            self.agreement.say(_("No point is measured yet."))
            return
        if self._compared == (line.run, line.done) or line.running:
            if line.running:
                self.agreement.say(_("The comparison comes when the run has ended."))
            return
        self._compared = (line.run, line.done)
        self.agreement.say(_("comparing"))
        process = tasks.compare(self._hub, line.run)

        def show() -> None:
            if process.job.state == DONE and isinstance(process.job.answer, dict):
                self.agreement.show_answer(process.job.answer)
            else:
                self.agreement.say(process.job.status(), wrong=True)

        process.ended.connect(show)
