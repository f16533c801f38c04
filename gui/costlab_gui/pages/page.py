"""What every page has: a key, a title, and a redraw only while it is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from costlab.figures.spec import AnyFigure
from costlab.i18n import _
from costlab_gui.hub import Hub

if TYPE_CHECKING:
    from costlab_gui.export import Copied

CURVES_ONLY = frozenset(
    {"page", "over", "low", "high", "metrics", "log_x", "log_y", "linked", "budget", "runs",
     "store", "reference", "hands", "measure", "plan", "plan_view",
     "plan_quantity"}
)  # fmt: skip
"""Fields of the session that change only the curves page, what is measured, or the plan."""


class Page(QWidget):
    """Base of the pages. Set ``key`` (of ``session.PAGES``) and override :meth:`refresh`."""

    key = ""
    columns: tuple[QWidget, ...] = ()
    """Left and right column of a page of ``registry.OWN_COLUMNS``."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hub = hub
        self._stale: frozenset[str] | None = frozenset()
        hub.changed.connect(self._note)
        hub.data_changed.connect(lambda which: self._note(frozenset({which})))
        hub.themed.connect(self.retheme)
        hub.asked.connect(self.take_asked)

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

    def figure(self) -> AnyFigure | None:
        """What is exported and copied; None while there is no picture."""
        return None

    def export_figure(self, path: Path | None = None) -> None:
        """Write :meth:`figure` to a file (.png, .svg, .csv), asked for unless it is given."""
        from costlab_gui.export import file_filter, save_figure

        spec = self.figure()
        if spec is None:
            self.hub.tell(_("there is no plot on this page"))
            return
        if path is None:
            name, _kind = QFileDialog.getSaveFileName(
                self, _("Export plot"), f"{self.key}.png", file_filter()
            )
            if not name:
                return
            path = Path(name)
        target = path
        self.hub.worker.do(
            lambda: save_figure(spec, target),
            lambda written: self.hub.tell(_("wrote {path}").format(path=written)),
        )

    def copy_figure(self) -> None:
        """Put :meth:`figure` on the clipboard."""
        from costlab_gui.export import copied, to_clipboard

        spec = self.figure()
        if spec is None:
            self.hub.tell(_("there is no plot on this page"))
            return

        def put(copy: Copied) -> None:
            to_clipboard(copy)
            self.hub.tell(_("copied as picture, vector picture and table"))

        self.hub.worker.do(lambda: copied(spec), put)

    def prepare(self) -> None:
        """Bring it up to date before it is shown."""
        if self._stale is not None:
            changed, self._stale = self._stale, None
            self.refresh(changed)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.prepare()

    def take_asked(self, what: str, detail: object) -> None:
        """See ``Hub.asked``."""
        if not self.isVisible():
            return
        if what == "export plot":
            self.export_figure(detail if isinstance(detail, Path) else None)
        elif what == "copy plot":
            self.copy_figure()

    def _note(self, changed: frozenset[str]) -> None:
        if self.isVisible():
            self.refresh(changed)
        else:
            self._stale = changed | (self._stale or frozenset())
