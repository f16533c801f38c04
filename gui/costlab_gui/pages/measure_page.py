"""Measure: choose points, watch them land, cancel and go on, look at the runs of the store."""

from __future__ import annotations

import psutil
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab_gui import tasks
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.model.calibration import calibration_of
from costlab_gui.model.measure import MeasurePlan, Wish, device_here, plan, why_not_here
from costlab_gui.model.session import THIS_MACHINE
from costlab_gui.pages.page import Page
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.calibration_bar import CalibrationBar
from costlab_gui.widgets.job_row import JobRow
from costlab_gui.widgets.measure_form import MeasureForm
from costlab_gui.widgets.runs_view import RunsView

_PLANNED_BY = frozenset({
    "programs", "hidden", "over", "low", "high", "mode", "dtype", "device", "threads", "options",
    "sizes", "setting", "opened", "formulas", "machines", "measure",
})  # fmt: skip

_CALIBRATED_BY = frozenset({"device", "dtype", "threads", "machines"})


class MeasurePage(Page):
    """The form above, the runs below, this machine's calibration at the foot."""

    key = "measure"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(hub, parent)
        self._plan: MeasurePlan | None = None
        self._wish: Wish | None = None
        self.notice = QLabel()
        self.notice.setWordWrap(True)
        set_role(self.notice, "warning")
        self.choose_this = QPushButton(_("Choose this machine"))
        self.choose_this.clicked.connect(
            lambda: hub.change(_("choose this machine"), device=THIS_MACHINE)
        )
        self.form = MeasureForm(hub)
        self.runs = RunsView(hub)
        self.calibration = CalibrationBar()
        top = QHBoxLayout()
        top.setContentsMargins(12, 0, 0, 0)
        top.addWidget(self.notice, 1)
        top.addWidget(self.choose_this)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(top)
        layout.addWidget(self.form)
        self._jobs = QVBoxLayout()
        self._jobs.setContentsMargins(12, 0, 12, 0)
        layout.addLayout(self._jobs)
        layout.addWidget(self.runs, 1)
        layout.addWidget(self.calibration)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(100)
        self._later.timeout.connect(self._plan_now)
        self.form.changed.connect(self._plan_now)
        self.form.started.connect(self.start)
        self.calibration.asked.connect(self._calibrate)
        hub.jobs.added.connect(self._follow)
        hub.jobs.changed.connect(self._job_changed)
        hub.jobs.ended.connect(self._job_ended)
        for process in hub.jobs.active:
            self._follow(process)

    @property
    def title(self) -> str:
        return _("Measure")

    def refresh(self, changed: frozenset[str]) -> None:
        if "measure" in changed and self.form.asked == self.hub.session.measure:
            changed -= {"measure"}  # the form itself said so, and is planned
            if not changed:
                return
        if not changed or changed & _PLANNED_BY:
            self.form.follow()
            why = why_not_here(self.hub.session.setting)
            self.notice.setText(why)
            self.notice.setVisible(bool(why))
            self.choose_this.setVisible(bool(why))
            if not changed or changed & _CALIBRATED_BY:
                self._show_calibration()
            if changed:
                self._later.start()
            else:
                self._plan_now()
        if not changed or changed & {"runs", "store", "machines"}:
            self.runs.refresh(renewed="machines" in changed)

    def retheme(self) -> None:
        self.update()
        self.runs.viewport_update()

    def start(self) -> JobProcess | None:
        """Measure what the form says; None if it cannot be measured."""
        self._plan_now()
        if self._plan is None or self._wish is None or not self._plan.points:
            return None
        try:
            self.hub.agreed.check(self.hub.session.shown)
        except CostLabError as error:
            self.form.show_error(str(error))
            return None
        process = tasks.measure(self.hub, self._plan, self._wish)
        self.runs.watch(process)
        return process

    def _plan_now(self) -> None:
        self._later.stop()
        self._plan = None
        why = why_not_here(self.hub.session.setting)
        if why:
            # The notice above says it.
            self.form.show_error("")
            return
        try:
            self._wish = self.form.wish()
            self._plan = plan(
                self.hub.session, self.hub.workspace, self._wish,
                psutil.virtual_memory().available, device_here(self.hub.session.setting) != "cpu",
            )  # fmt: skip
        except CostLabError as error:
            self.form.show_error(error)
            return
        self.form.show_plan(self._plan)

    def _calibrate(self, level: str) -> None:
        setting = self.hub.session.setting
        tasks.calibrate(self.hub, device_here(setting), setting.threads or 1, setting.dtype, level)

    def _show_calibration(self) -> None:
        setting = self.hub.session.setting
        known = calibration_of(
            device_here(setting),
            self.hub.workspace.threads(self.hub.session.setting),
            setting.dtype,
        )
        busy = any(one.job.command.alone for one in self.hub.jobs.active)
        self.calibration.show_calibration(known, busy=busy)

    def _follow(self, process: JobProcess) -> None:
        """Show the job that measures, and those that wait, in a line each."""
        if not process.job.command.alone:
            return
        self._show_calibration()
        row = JobRow(process)
        self._jobs.addWidget(row)
        process.ended.connect(row.deleteLater)

    def _job_changed(self, process: JobProcess) -> None:
        self.runs.progressed(process)

    def _job_ended(self, process: JobProcess) -> None:
        if process.job.command.alone:
            self._show_calibration()
