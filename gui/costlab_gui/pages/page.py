"""What every page has: a key, a title, and a redraw only while it is looked at."""

from __future__ import annotations

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from costlab_gui.hub import Hub


class Page(QWidget):
    """Base of the pages. Set ``key`` (of ``session.PAGES``) and override :meth:`refresh`."""

    key = ""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hub = hub
        self._stale: frozenset[str] | None = frozenset()
        hub.changed.connect(self._note)
        hub.data_changed.connect(lambda which: self._note(frozenset({which})))
        hub.themed.connect(self.retheme)

    @property
    def title(self) -> str:
        """What stands on the tab."""
        raise NotImplementedError

    def refresh(self, changed: frozenset[str]) -> None:
        """Show the session as it is now.

        Args:
            changed: fields of the session that changed since the last call, and what
                ``Hub.data_changed`` named; empty for the first time.
        """
        raise NotImplementedError

    def retheme(self) -> None:
        """Take colours from the theme again."""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale is not None:
            changed, self._stale = self._stale, None
            self.refresh(changed)

    def _note(self, changed: frozenset[str]) -> None:
        if self.isVisible():
            self.refresh(changed)
        else:
            self._stale = changed | (self._stale or frozenset())
