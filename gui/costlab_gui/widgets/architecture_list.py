"""What is compared: every architecture and opened module, to be found, chosen and explained."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QToolButton, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.catalogue import Program, entries
from costlab_gui.theme.icons import set_icon
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.architecture_rows import ROW, ArchitectureRows
from costlab_gui.widgets.architecture_view import ArchitectureView
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.search_line import SearchLine

_FIELDS = frozenset(
    {"programs", "hidden", "colours", "selected", "opened", "mode", "dtype", "device", "options"}
)


class ArchitectureList(Card):
    """The check box adds a program to the comparison; the name shows its formula.

    Keys: Space toggles, Enter shows the formula, Delete closes an opened module; in the search
    field Enter toggles the first match and Down goes into the list.
    """

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(_("Architectures"), parent)
        self.hub = hub
        self.rows = ArchitectureRows(hub, self)
        self.search = SearchLine()
        self.search.setAccessibleName(_("Find an architecture"))
        self.view = ArchitectureView(self.rows)
        open_own = QToolButton()
        set_role(open_own, "mini")
        set_icon(open_own, "add", "dim")
        open_own.setToolTip(_("Open your own module or config"))
        open_own.setAccessibleName(_("Open your own module or config"))
        open_own.clicked.connect(lambda: hub.asked.emit("open own", None))
        self.header.addWidget(open_own)
        self.body.addWidget(self.search)
        self.body.addWidget(self.view, 1)
        QWidget.setTabOrder(self.search, self.view)
        self.search.textChanged.connect(self._search)
        self.search.entered.connect(self._toggle_first)
        self.search.left.connect(self._enter_list)
        hub.changed.connect(self._note)
        hub.data_changed.connect(self._learn)
        hub.themed.connect(self.view.viewport().update)
        self._refresh()

    def _note(self, changed: frozenset[str]) -> None:
        if changed & _FIELDS:
            self._refresh()

    def _learn(self, which: str) -> None:
        if which == "formulas":
            self._refresh()

    def _refresh(self) -> None:
        self.rows.refresh()
        count = len(entries(self.hub.session, self.hub.workspace))
        self.search.setPlaceholderText(_("Find among {count}…").format(count=count))

    def _search(self, text: str) -> None:
        self.rows.search(text)
        self.view.setCurrentIndex(self.rows.first() if text else QModelIndex())

    def _toggle_first(self) -> None:
        row = self.rows.first().data(ROW)
        if isinstance(row, Program) and self.search.text():
            self.rows.toggle(row.target)

    def _enter_list(self) -> None:
        self.view.setFocus()
        if not self.view.currentIndex().isValid():
            self.view.setCurrentIndex(self.rows.first())
