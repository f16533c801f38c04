"""Reads a trace in a thread, so that a long one does not hold up the window."""

from __future__ import annotations

import threading
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from costlab.errors import CostLabError
from costlab_gui.model.trace import open_trace


class TraceLoader(QObject):
    """Loads one trace at a time; the last one asked for wins.

    Signals:
        loaded: a :class:`~costlab_gui.model.trace.Trace`.
        failed: the error.
    """

    loaded = Signal(object)
    failed = Signal(object)
    _done = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asked = 0
        self._done.connect(self._deliver)

    def load(self, path: Path) -> None:
        """Start reading ``path``."""
        self._asked += 1
        threading.Thread(
            target=self._read, args=(self._asked, path), name="costlab-trace", daemon=True
        ).start()

    def _read(self, number: int, path: Path) -> None:
        found: object
        try:
            found = open_trace(path)
        except CostLabError as error:
            found = error
        try:
            self._done.emit(number, found)
        except RuntimeError:
            # The page is gone: nobody waits for the trace.
            return

    def _deliver(self, number: int, found: object) -> None:
        if number != self._asked:
            return
        if isinstance(found, CostLabError):
            self.failed.emit(found)
        else:
            self.loaded.emit(found)
