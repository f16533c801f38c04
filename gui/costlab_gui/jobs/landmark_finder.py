"""Finds the landmarks of the session in a thread, when it has come to rest."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from PySide6.QtCore import QObject, QTimer, Signal

from costlab.figures.spec import Ring
from costlab_gui.model.landmarks import Landmark, Landmarks, Superseded, landmarks
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace

_REST_MS = 120


class LandmarkFinder(QObject):
    """The landmarks of a session as far as they are known.

    Args:
        session: gives the present session.
        workspace: formulas and machines.
        parent: owner.

    Signals:
        changed: other landmarks are known.
    """

    changed = Signal()
    _found = Signal(int, object)

    def __init__(
        self, session: Callable[[], Session], workspace: Workspace, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._workspace = workspace
        self._known = Landmarks()
        self._latest = 0
        self._watching = False
        self._thread = ThreadPoolExecutor(1)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        self._rest.timeout.connect(self._begin)
        self._found.connect(self._take)

    @property
    def lines(self) -> tuple[Landmark, ...]:
        return self._known.lines

    @property
    def more(self) -> int:
        """How many lines are left out."""
        return self._known.more

    def rings(self, metric: str) -> tuple[Ring, ...]:
        """Crossovers to mark on the plot of a metric."""
        return self._known.rings.get(metric, ())

    def watch(self) -> None:
        """Find them from now on, and again when :meth:`ask` says so."""
        self._watching = True
        self.ask()

    def ask(self) -> None:
        """The session is another one: what is known is old, and is found again at rest."""
        self._latest += 1
        if self._watching:
            self._rest.start()

    def stop(self) -> None:
        """The app ends."""
        self._latest += 1
        self._watching = False
        self._rest.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _begin(self) -> None:
        self._thread.submit(self._run, self._latest, self._session())

    def _run(self, number: int, session: Session) -> None:
        found = Landmarks()
        with contextlib.suppress(Superseded):
            found = landmarks(session, self._workspace, lambda: number != self._latest)
        # The application may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            self._found.emit(number, found)

    def _take(self, number: int, found: Landmarks) -> None:
        if number == self._latest and found != self._known:
            self._known = found
            self.changed.emit()
