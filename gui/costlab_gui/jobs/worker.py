"""Does what the user asked for and takes longer than a frame: files, pictures, reports."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal

from costlab.errors import CostLabError

T = TypeVar("T")


class Worker(QObject):
    """A thread that does one piece of work after the other, in the order they were asked for.

    Args:
        tell: told of a :class:`CostLabError`; any other error is raised in the GUI thread.
        parent: owner.
    """

    _done = Signal(object, object)

    def __init__(self, tell: Callable[[CostLabError], object], parent: QObject) -> None:
        super().__init__(parent)
        self._tell = tell
        self._waiting = 0
        self._ended = False
        self._thread = ThreadPoolExecutor(1)
        self._done.connect(self._take)

    @property
    def busy(self) -> bool:
        """Whether something was asked for that is not done."""
        return self._waiting > 0

    def do(self, work: Callable[[], T], then: Callable[[T], object]) -> None:
        """Let the thread do ``work``, and the GUI thread ``then`` with what it returned.

        ``work`` uses no widgets; it may draw on images.
        """
        if self._ended:
            return
        self._waiting += 1
        self._thread.submit(self._run, work, then)

    def stop(self) -> None:
        """The app ends: what was asked for is still done, and nothing new."""
        self._ended = True
        self._thread.shutdown(wait=True)

    def _run(self, work: Callable[[], T], then: Callable[[T], object]) -> None:
        answer: T | Exception
        try:
            answer = work()
        except Exception as error:
            answer = error
        # The application may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            self._done.emit(then, answer)

    def _take(self, then: Callable[[Any], object], answer: object) -> None:
        self._waiting -= 1
        if isinstance(answer, CostLabError):
            self._tell(answer)
        elif isinstance(answer, Exception):
            raise answer
        else:
            then(answer)
