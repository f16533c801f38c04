"""The runs of the store: check one to draw its points, choose one to look at it."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.measured import shown_runs
from costlab_gui.model.runs import LATEST, RunLine

_NAME = Qt.ItemDataRole.UserRole


class RunList(QTreeWidget):
    """Newest first.

    Signals:
        chosen: a run (str) is looked at.
    """

    chosen = Signal(str)

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._items: list[QTreeWidgetItem] = []
        self.setAccessibleName(_("measured runs"))
        self.setHeaderLabels([_("on the plot"), _("began"), _("of"), _("points")])
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.header()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.itemChanged.connect(self._checked)
        self.currentItemChanged.connect(self._choose)

    def refresh(self, chosen: str) -> None:
        """Show the runs as they are, with ``chosen`` selected."""
        lines = self._hub.runs.lines
        with QSignalBlocker(self):
            if [item.data(0, _NAME) for item in self._items] != [line.run for line in lines]:
                self.clear()
                self._items = [QTreeWidgetItem() for _line in lines]
                self.addTopLevelItems(self._items)
            for item, line in zip(self._items, lines, strict=True):
                self._fill(item, line, newest=item is self._items[0])
                if line.run == chosen:
                    self.setCurrentItem(item)
        for column in range(3):
            self.resizeColumnToContents(column)

    def _fill(self, item: QTreeWidgetItem, line: RunLine, *, newest: bool) -> None:
        runs = self._hub.session.runs
        shown = line.run in runs or (newest and LATEST in runs)
        texts = [line.run, line.created[:16].replace("T", " "), ", ".join(line.programs),
                 line.state()]  # fmt: skip
        for column, text in enumerate(texts):
            if item.text(column) != text:
                item.setText(column, text)
                item.setToolTip(column, text)
        item.setData(0, _NAME, line.run)
        item.setCheckState(0, Qt.CheckState.Checked if shown else Qt.CheckState.Unchecked)

    def _checked(self, item: QTreeWidgetItem, column: int) -> None:
        if column != 0:
            return
        run, shown = str(item.data(0, _NAME)), item.checkState(0) == Qt.CheckState.Checked
        runs = shown_runs(self._hub.session, run, str(self._items[0].data(0, _NAME)), shown)
        text = _("show run {run}") if shown else _("hide run {run}")
        self._hub.change(text.format(run=run), runs=runs)

    def _choose(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(str(item.data(0, _NAME)))
