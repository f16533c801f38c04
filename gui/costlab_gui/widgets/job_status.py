"""The jobs in the status line: the one that runs, and a button that lists the others."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.model.jobs import RUNNING
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.job_panel import JobPanel
from costlab_gui.widgets.job_row import JobRow

_PANEL_EM = 58


class JobStatus(QWidget):
    """Takes no room while there was no job yet."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._row: JobRow | None = None
        self.list = QPushButton()
        set_role(self.list, "quiet")
        self.list.clicked.connect(self.open_list)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self._layout.addWidget(self.list)
        hub.jobs.added.connect(self._refresh)
        hub.jobs.ended.connect(self._refresh)
        hub.jobs.changed.connect(self._follow)
        self._refresh()

    @property
    def row(self) -> JobRow | None:
        """The row of the job that runs."""
        return self._row

    def open_list(self) -> None:
        """Show all jobs above the status line; a click elsewhere closes the list."""
        frame = QFrame(self.window(), Qt.WindowType.Popup)
        frame.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        set_role(frame, "card")
        frame.setAccessibleName(_("jobs"))
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.addWidget(JobPanel(self._hub))
        frame.setMinimumWidth(_PANEL_EM * self.fontMetrics().horizontalAdvance("m"))
        frame.adjustSize()
        corner = self.mapToGlobal(QPoint(self.width(), 0))
        frame.move(corner - QPoint(frame.width(), frame.height() + 8))
        frame.show()

    def _follow(self, process: JobProcess) -> None:
        if (self._row is None) == (process.job.state == RUNNING):
            self._refresh()

    def _refresh(self) -> None:
        running = [one for one in self._hub.jobs.active if one.job.state == RUNNING]
        # What measures matters more than a comparison of a moment.
        running.sort(key=lambda one: not one.job.command.alone)
        shown = running[0] if running else None
        if self._row is not None and self._row.process is not shown:
            self._row.deleteLater()
            self._row = None
        if shown is not None and self._row is None:
            self._row = JobRow(shown, compact=True)
            self._layout.insertWidget(0, self._row)
        others = len(self._hub.jobs.active) - (shown is not None)
        self.list.setText(_("{count} more").format(count=others) if others else _("Jobs"))
        self.list.setAccessibleName(_("list of jobs"))
        self.list.setVisible(bool(self._hub.jobs.all))
