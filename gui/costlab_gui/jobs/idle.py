"""Does what can wait in the pauses of the event loop, one piece after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

_PAUSE_MS = 15
"""Between two pieces: what the user does comes first."""


class Idle(QObject):
    """A queue of pieces of work for the GUI thread, each some milliseconds long.

    While it is on hold, as before a window's first picture, nothing of it is done.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._held = False
        self._work: deque[Callable[[], object]] = deque()
        self._timer = QTimer(self)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._next)

    @property
    def busy(self) -> bool:
        """Whether something waits to be done."""
        return bool(self._work)

    def later(self, work: Callable[[], object]) -> None:
        """Do ``work`` after all that waits already."""
        self._work.append(work)
        if not self._held:
            self._timer.start()

    def first(self, work: Callable[[], object]) -> None:
        """Do ``work`` before all that waits already: the user waits for it."""
        self._work.appendleft(work)
        if not self._held:
            self._timer.start()

    def soon(self, work: Callable[[], object]) -> None:
        """Do ``work`` now, or when the hold ends."""
        if self._held:
            self._work.append(work)
        else:
            work()

    def hold(self) -> None:
        """Do nothing until :meth:`release`."""
        self._held = True
        self._timer.stop()

    def release(self) -> None:
        """Begin with what waits."""
        self._held = False
        if self._work:
            self._timer.start()

    def stop(self) -> None:
        """Drop what waits: the app ends."""
        self._work.clear()
        self._timer.stop()

    def _next(self) -> None:
        if self._work:
            self._work.popleft()()
        if not self._work:
            self._timer.stop()
