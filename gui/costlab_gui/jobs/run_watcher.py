"""Looks at the store now and then, so that points appear whoever measures them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from costlab_gui.model.runs import Point, RunLine, Runs
from costlab_gui.model.session import Session

_EVERY_MS = 1000


class RunWatcher(QObject):
    """The runs of the session's store.

    Args:
        session: gives the present session, which names the store and the runs to show.
        parent: owner.

    Signals:
        changed: runs or points are new, or the store's problem is.
    """

    changed = Signal()

    def __init__(self, session: Callable[[], Session], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.runs = Runs()
        self._session = session
        self._looked = False
        self._also: tuple[str, ...] = ()
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self.look)

    def watch(self) -> None:
        """Look every second from now on; it costs two questions to the file system."""
        self.look()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def look(self) -> None:
        """Read what is new now."""
        self._looked = True
        session = self._session()
        path = Path(session.store).expanduser() if session.store else None
        changed = self.runs.look(path, session.runs, self._also)
        if not self.runs.complete:
            QTimer.singleShot(0, self, self.look)
        if changed:
            self.changed.emit()

    @property
    def lines(self) -> tuple[RunLine, ...]:
        """All runs, newest first."""
        self._look_once()
        return self.runs.lines

    @property
    def problem(self) -> str:
        """Why the store cannot be read; "" if it can."""
        self._look_once()
        return self.runs.problem

    def points(self, run: str | None = None) -> tuple[Point, ...]:
        """Points of the session's runs, or of one of them; see ``model.runs.Runs.points``."""
        self._look_once()
        return self.runs.points(run)

    def read_also(self, run: str) -> None:
        """Read the points of one more run, which need not be one of the session's."""
        if self._also != (run,):
            self._also = (run,)
            self.look()

    def _look_once(self) -> None:
        if not self._looked:
            self.look()
