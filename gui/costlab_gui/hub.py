"""The one object that widgets share: the document and the workspace, with Qt's signals."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from costlab.errors import CostLabError
from costlab_gui.jobs.idle import Idle
from costlab_gui.jobs.job_list import JobList
from costlab_gui.jobs.landmark_finder import LandmarkFinder
from costlab_gui.jobs.run_watcher import RunWatcher
from costlab_gui.jobs.worker import Worker
from costlab_gui.model.document import Document
from costlab_gui.model.jobs import RUNNING
from costlab_gui.model.messages import Message, Messages
from costlab_gui.model.monitor import Monitor
from costlab_gui.model.opened import Agreed
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace

# What crossovers and ceilings depend on.
_PLACES = frozenset({
    "programs", "hidden", "setting", "over", "low", "high", "metrics", "budget", "hands", "opened",
    "selected",
})  # fmt: skip


class Hub(QObject):
    """Passes changes on, at most once a frame.

    Signals:
        changed: names of session fields (frozenset) that changed since the last frame.
        dragging: whether a slider is being dragged (drawing may be coarser meanwhile).
        data_changed: what the workspace knows is new: formulas, calibrations, runs (str: which).
        themed: the theme was changed.
        told: a message for the user was added.
        asked: something that a dialog or another page does: ("open own", path or None),
            ("import", path), ("open trace", path), ("export plot", path or None),
            ("copy plot", None), ("fit", None), ("devices", None), ("crosshair", size).
        closing: the window closes; threads and children end.
    """

    changed = Signal(object)
    dragging = Signal(bool)
    data_changed = Signal(str)
    themed = Signal()
    told = Signal(object)
    asked = Signal(str, object)
    closing = Signal()

    def __init__(self, document: Document, workspace: Workspace, parent: QObject | None = None):
        super().__init__(parent)
        self.document = document
        self.workspace = workspace
        self.messages = Messages()
        self.idle = Idle(self)
        self.closing.connect(self.idle.stop)
        self.worker = Worker(self.tell, self)
        self.closing.connect(self.worker.stop)
        self.loader = Worker(self.tell, self)
        self.closing.connect(self.loader.stop)
        self.jobs = JobList(self)
        self.runs = RunWatcher(lambda: document.session, self)
        self.runs.changed.connect(lambda: self.data_changed.emit("runs"))
        self.closing.connect(self.runs.stop)
        self.closing.connect(self.jobs.end_all)
        self.landmarks = LandmarkFinder(lambda: document.session, workspace, self)
        self.landmarks.changed.connect(lambda: self.data_changed.emit("landmarks"))
        self.closing.connect(self.landmarks.stop)
        self.changed.connect(self._look_for_landmarks)
        self.data_changed.connect(self._renew_landmarks)
        self.monitor = Monitor()
        self.agreed = Agreed()
        self.jobs.changed.connect(self._mind_measuring)
        self.jobs.ended.connect(self._mind_measuring)
        self._pending: set[str] = set()
        self._drags = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.flush)
        document.subscribe(self._note)

    @property
    def session(self) -> Session:
        return self.document.session

    def change(self, text: str = "", drag: int | None = None, **changes: Any) -> None:
        """See :meth:`Document.change`."""
        self.document.change(text, drag, **changes)

    def new_drag(self) -> int:
        """A number for the changes of one drag."""
        self._drags += 1
        return self._drags

    def tell(self, message: Message | CostLabError | str) -> None:
        """Show a message; an error is worded with what was given and what to do."""
        self.told.emit(self.messages.add(message))

    def flush(self) -> None:
        """Pass on what changed now instead of at the next frame."""
        self._timer.stop()
        if self._pending:
            changed, self._pending = frozenset(self._pending), set()
            self.changed.emit(changed)

    def _look_for_landmarks(self, changed: frozenset[str]) -> None:
        if changed & _PLACES:
            self.landmarks.ask()

    def _renew_landmarks(self, which: str) -> None:
        if which in ("formulas", "machines"):
            self.landmarks.ask()

    def _note(self, changed: frozenset[str]) -> None:
        if changed & {"runs", "store"}:
            self.runs.look()
        self._pending |= changed
        if not self._timer.isActive():
            self._timer.start()

    def _mind_measuring(self) -> None:
        """Watching the devices must not disturb what is measured on them."""
        self.monitor.memory_only = any(
            one.job.command.alone and one.job.command.measures and one.job.state == RUNNING
            for one in self.jobs.active
        )
