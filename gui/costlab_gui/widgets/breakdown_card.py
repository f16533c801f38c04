"""The card that takes a quantity apart: a tree to sort, with formula, value and share."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QHeaderView,
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from costlab.i18n import _
from costlab_gui.model.breakdown import breakdown, ways, why_whole
from costlab_gui.model.formula import View
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.theme.tokens import current, mixed
from costlab_gui.widgets.breakdown_model import FORMULA, NAME, SHARE, SORT, VALUE, BreakdownModel
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.segmented import SegmentedControl

_OPEN_UP_TO = 12


class BreakdownCard(Card):
    """Follows the view it is given; the way of taking apart stays while it is possible."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_("WHERE IT GOES"), parent)
        self._view: View | None = None
        self._by = SegmentedControl(_("take apart"))
        self._by.chosen.connect(lambda _keys: self._fill())
        self.header.addWidget(self._by)
        self._reason = QLabel()
        self._reason.setWordWrap(True)
        set_role(self._reason, "dim")
        self.model = BreakdownModel(self)
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSortRole(SORT)
        self._sorted.setSourceModel(self.model)
        self.tree = QTreeView()
        self.tree.setModel(self._sorted)
        self.tree.setAccessibleName(_("Parts with formula, value and share"))
        self.tree.setSortingEnabled(True)
        self.tree.sortByColumn(SHARE, Qt.SortOrder.DescendingOrder)
        self.tree.setUniformRowHeights(True)
        self.tree.setItemDelegateForColumn(SHARE, _ShareDelegate(self.tree))
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(FORMULA, QHeaderView.ResizeMode.Stretch)
        for column, sample in ((VALUE, "000.0 MFLOP  "), (SHARE, "0.00000 %    ")):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(column, self.tree.fontMetrics().horizontalAdvance(sample) + 24)
        header.resizeSection(NAME, 22 * self.tree.fontMetrics().averageCharWidth())
        self.tree.setMinimumHeight(8 * self.tree.fontMetrics().height())
        self.body.addWidget(self._reason)
        self.body.addWidget(self.tree, 1)

    def show_view(self, view: View | None) -> None:
        """Show the parts of a quantity; None empties the card."""
        self._view = view
        choices = ways(view) if view is not None else ()
        self._by.set_choices(choices)
        if choices and not self._by.value:
            self._by.set_value([choices[0][0]])
        self._by.setVisible(len(choices) > 1)
        self.tree.setVisible(bool(choices))
        self._reason.setVisible(not choices)
        self._reason.setText("" if view is None else why_whole(view))
        self._fill()

    def retheme(self) -> None:
        self.tree.viewport().update()

    def _fill(self) -> None:
        view = self._view
        if view is None or not self._by.value:
            self.model.show_rows((), "")
            return
        rows = breakdown(view, self._by.value[0])
        if self.model.show_rows(rows, view.unit) and len(rows) <= _OPEN_UP_TO:
            self.tree.expandToDepth(0)


class _ShareDelegate(QStyledItemDelegate):
    """A share as a bar behind its figure."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        theme = current()
        source = index.model()
        assert isinstance(source, QSortFilterProxyModel)
        node = source.mapToSource(QModelIndex(index)).internalPointer()
        share = min(max(node.row.share, 0.0), 1.0)
        rect = option.rect.adjusted(2, 3, -2, -3)  # type: ignore[attr-defined]
        rect.setLeft(rect.right() - round(rect.width() * share))
        painter.fillRect(rect, QColor(mixed(theme.card, theme.accent, 0.3)))
        super().paint(painter, option, index)
