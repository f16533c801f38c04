"""The jobs that run, wait or have just ended, newest first."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.job_row import JobRow

_SHOWN = 6


class JobPanel(QWidget):
    """A row for each of the latest jobs."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[JobRow] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(4)
        self._nothing = QLabel(_("Nothing runs."))
        set_role(self._nothing, "dim")
        self._layout.addWidget(self._nothing)
        for process in hub.jobs.all[-_SHOWN:]:
            self._add(process)
        hub.jobs.added.connect(self._add)

    @property
    def rows(self) -> tuple[JobRow, ...]:
        """Newest first."""
        return tuple(self._rows)

    def _add(self, process: JobProcess) -> None:
        row = JobRow(process)
        self._rows.insert(0, row)
        self._layout.insertWidget(0, row)
        for old in self._rows[_SHOWN:]:
            old.deleteLater()
        del self._rows[_SHOWN:]
        self._nothing.hide()
