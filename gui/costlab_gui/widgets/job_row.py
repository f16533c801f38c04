"""One job on one line: what, how far, how much longer, Cancel, Details."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QSizePolicy, QWidget

from costlab.i18n import _
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.model.jobs import FAILED, RUNNING
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.text_dialog import show_text

_BAR_EM = 9


class JobRow(QWidget):
    """Follows a job until it is deleted.

    Args:
        process: the job.
        parent: owner.
        compact: for a status line: no buttons but Cancel.
    """

    def __init__(
        self, process: JobProcess, parent: QWidget | None = None, *, compact: bool = False
    ) -> None:
        super().__init__(parent)
        self.process = process
        job = process.job
        self._title = QLabel(job.command.title)
        set_role(self._title, "strong")
        self._status = ElidedLabel()
        set_role(self._status, "dim")
        self._status.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setFixedWidth(_BAR_EM * self.fontMetrics().horizontalAdvance("m"))
        self.cancel = QPushButton(_("Cancel"))
        self.cancel.clicked.connect(process.cancel)
        self.details = QPushButton(_("Details"))
        self.details.clicked.connect(self.show_details)
        self.copy = QPushButton(_("Copy report"))
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(job.report()))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for widget in (self._title, self._status, self._bar, self.cancel, self.details, self.copy):
            layout.addWidget(widget)
        layout.setStretch(1, 1)
        self._compact = compact
        for button in (self.details, self.copy):
            set_role(button, "quiet")
            button.setAccessibleName(f"{button.text()}: {job.command.title}")
        self.cancel.setAccessibleName(f"{self.cancel.text()}: {job.command.title}")
        process.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the job as it is now."""
        job = self.process.job
        self._status.setText(job.status())
        set_role(self._status, "error" if job.state == FAILED else "dim")
        running = job.state == RUNNING
        share = job.share
        self._bar.setVisible(running)
        # A range of nothing is Qt's bar that only says that something goes on.
        self._bar.setRange(0, 1000 if share is not None else 0)
        self._bar.setValue(round(1000 * share) if share is not None else 0)
        self._bar.setAccessibleName(_("progress of {what}").format(what=job.command.title))
        self.cancel.setVisible(not job.ended)
        self.cancel.setEnabled(not job.cancelling)
        self.details.setVisible(not self._compact)
        self.copy.setVisible(not self._compact and job.state == FAILED)
        self.setAccessibleName(f"{job.command.title}: {job.status()}")

    def show_details(self) -> None:
        """What the child said, and how it ended."""
        show_text(self.process.job.command.title, self.process.job.report(), self)
