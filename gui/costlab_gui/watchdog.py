"""Finds calls that keep the window from answering, for tests and for ``--watchdog``."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, QTimer

LIMIT_S = 0.05
_BEAT_MS = 5
_LOOK_S = 0.005


@dataclass(frozen=True, slots=True)
class Stall:
    """The event loop stood still for ``lasted_s``; ``stack`` is where, seen at ``LIMIT_S``."""

    lasted_s: float
    stack: str

    @property
    def place(self) -> str:
        """The innermost line of CostLab's own code."""
        places = self.stack.splitlines() or [""]
        own = [line for line in places if "costlab" in line]
        return (own or places)[-1]


class Watchdog(QObject):
    """Beats in the event loop of the thread that makes it, and is watched from another.

    Use :meth:`start` and :meth:`stop`; ``stalls`` holds what was found.
    """

    def __init__(self, limit_s: float = LIMIT_S, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.stalls: list[Stall] = []
        self._limit_s = limit_s
        self._watched = threading.get_ident()
        self._beat_at = time.monotonic()
        self._seen = ""
        self._ended = threading.Event()
        self._beat = QTimer(self)
        self._beat.setTimerType(Qt.TimerType.PreciseTimer)
        self._beat.setInterval(_BEAT_MS)
        self._beat.timeout.connect(self._note)
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._beat_at = time.monotonic()
        self._beat.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop; a stall that lasts until now counts."""
        self._note()
        self._beat.stop()
        self._ended.set()
        self._thread.join()

    def _note(self) -> None:
        now = time.monotonic()
        lasted, self._beat_at = now - self._beat_at - _BEAT_MS / 1000, now
        if lasted > self._limit_s:
            self.stalls.append(Stall(lasted, self._seen))
        self._seen = ""

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_S):
            late = time.monotonic() - self._beat_at - _BEAT_MS / 1000
            if late > self._limit_s and not self._seen:
                self._seen = _stack_of(self._watched)


def _stack_of(thread: int) -> str:
    """Where a thread is, outermost call first.

    Nothing here waits, so no frame is held while its thread goes on: a painter in one has to end
    with its function.
    """
    places = []
    frame = sys._current_frames().get(thread)
    while frame is not None:
        code = frame.f_code
        places.append(f"{code.co_filename}:{frame.f_lineno} in {code.co_name}")
        frame = frame.f_back
    return "\n".join(reversed(places))
