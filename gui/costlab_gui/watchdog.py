"""Finds calls that keep the window from answering, for tests and for the scripted tour."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile

from PySide6.QtCore import QObject, Qt, QTimer

LIMIT_S = 0.05
_BEAT_MS = 5
_LOOK_S = 0.005
_SLOW_S = 0.01
_KEPT = 400

Stack = tuple[str, ...]
"""Calls, outermost first, as "file:line in function"."""


@dataclass(frozen=True, slots=True)
class Stall:
    """The event loop stood still.

    Attributes:
        lasted_s: for how long.
        worked_s: how long its thread had a core meanwhile; the rest it waited.
        stacks: where it was, looked at every few milliseconds.
    """

    lasted_s: float
    worked_s: float
    stacks: tuple[Stack, ...]

    @property
    def place(self) -> str:
        """CostLab's own call that all of the time was spent in; "" where none was seen."""
        common = self.stacks[0] if self.stacks else ()
        for stack in self.stacks[1:]:
            common = tuple(a for a, _b in takewhile(_alike, zip(common, stack, strict=False)))
        own = [line for line in common if "costlab" in line]
        return (own or list(common) or [""])[-1]


class Watchdog(QObject):
    """Beats in the event loop of the thread that makes it, and is watched from another.

    Use :meth:`start` and :meth:`stop`; ``stalls`` holds what was found.
    """

    def __init__(self, limit_s: float = LIMIT_S, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.stalls: list[Stall] = []
        self._limit_s = limit_s
        self._watched = threading.get_ident()
        self._beat_at, self._worked_s = time.monotonic(), time.thread_time()
        self._seen: list[Stack] = []
        self._ended = threading.Event()
        self._beat = QTimer(self)
        self._beat.setTimerType(Qt.TimerType.PreciseTimer)
        self._beat.setInterval(_BEAT_MS)
        self._beat.timeout.connect(self._note)
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._beat_at, self._worked_s = time.monotonic(), time.thread_time()
        self._beat.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop; a stall that lasts until now counts."""
        self._note()
        self._beat.stop()
        self._ended.set()
        self._thread.join()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is done meanwhile is done by the script that uses the app, and does not count."""
        self._note()
        yield
        self._beat_at, self._worked_s, self._seen = time.monotonic(), time.thread_time(), []

    def _note(self) -> None:
        now, worked = time.monotonic(), time.thread_time()
        lasted = now - self._beat_at - _BEAT_MS / 1000
        if lasted > self._limit_s:
            self.stalls.append(Stall(lasted, worked - self._worked_s, tuple(self._seen)))
        self._beat_at, self._worked_s, self._seen = now, worked, []

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_S):
            seen = self._seen
            late = time.monotonic() - self._beat_at - _BEAT_MS / 1000
            if late > _SLOW_S and len(seen) < _KEPT:
                seen.append(_stack_of(self._watched))


def _alike(calls: tuple[str, str]) -> bool:
    return _function(calls[0]) == _function(calls[1])


def _function(line: str) -> str:
    file, _, rest = line.rpartition(":")
    return f"{file} {rest.partition(' in ')[2]}"


def _stack_of(thread: int) -> Stack:
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
    return tuple(reversed(places))
