"""Calls a refresh at once, but while a slider is dragged only so often."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QElapsedTimer, QTimer
from PySide6.QtWidgets import QWidget

from costlab_gui.hub import Hub

_READING_MS = 60
"""Digits that change faster cannot be read, and the plot needs the time."""


class Calm:
    """Spaces calls of ``refresh`` out during a drag; the last one is never lost.

    Args:
        hub: says when a drag goes on.
        owner: the widget that is refreshed.
        refresh: what to call.
    """

    def __init__(self, hub: Hub, owner: QWidget, refresh: Callable[[], None]) -> None:
        self._refresh = refresh
        self._dragging = False
        self._since = QElapsedTimer()
        self._timer = QTimer(owner)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.now)
        hub.dragging.connect(self._drag)

    def ask(self) -> None:
        """Refresh now, or soon while a drag goes on."""
        passed = self._since.elapsed() if self._since.isValid() else _READING_MS
        if not self._dragging or passed >= _READING_MS:
            self.now()
        elif not self._timer.isActive():
            self._timer.start(_READING_MS - passed)

    def now(self) -> None:
        """Refresh, whatever goes on."""
        self._timer.stop()
        self._since.restart()
        self._refresh()

    def _drag(self, on: bool) -> None:
        self._dragging = on
        if not on and self._timer.isActive():
            self.now()
