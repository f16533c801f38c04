"""Runs what takes longer than a frame in a thread, and keeps the answers."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from PySide6.QtCore import QObject, Signal


class Background(QObject):
    """Answers by key; all work is done one after the other in one thread.

    Args:
        kept: how many answers are kept, the least used go first.

    Signals:
        came: key of an answer that is known from now on.
    """

    came = Signal(object)
    _done = Signal(object, object)

    def __init__(self, kept: int) -> None:
        super().__init__()
        self._kept = kept
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._asked: set[Hashable] = set()
        self._held: list[tuple[Hashable, Callable[[], Any]]] | None = None
        self._thread = ThreadPoolExecutor(1)
        self._done.connect(self._keep)

    def known(self, key: Hashable, work: Callable[[], Any]) -> bool:
        """Whether :meth:`answer` has one; lets the thread do ``work`` where it has not."""
        if key in self._known:
            self._known.move_to_end(key)
            return True
        if key not in self._asked:
            self._asked.add(key)
            if self._held is None:
                self._thread.submit(self._run, key, work)
            else:
                self._held.append((key, work))
        return False

    def answer(self, key: Hashable) -> Any:
        """What ``work`` returned; None where there is no answer yet, or it failed."""
        return self._known.get(key)

    def hold(self) -> None:
        """Only note what is asked for: a thread slows what the GUI thread does meanwhile."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Begin with what was asked for during the hold."""
        held, self._held = self._held or [], None
        for key, work in held:
            self._thread.submit(self._run, key, work)

    def forget(self) -> None:
        """Drop every answer."""
        self._known.clear()

    def _run(self, key: Hashable, work: Callable[[], Any]) -> None:
        answer = None
        try:
            answer = work()
        finally:
            # The application may have ended meanwhile.
            with contextlib.suppress(RuntimeError):
                self._done.emit(key, answer)

    def _keep(self, key: Hashable, answer: Any) -> None:
        self._asked.discard(key)
        self._known[key] = answer
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
        self.came.emit(key)
