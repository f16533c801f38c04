"""The card that takes a quantity apart: a tree to sort, with formula, value and share."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QTreeView, QWidget

from costlab.i18n import _
from costlab_gui.model.breakdown import breakdown, ways
from costlab_gui.model.formula import View
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.breakdown_model import FORMULA, NAME, SHARE, SORT, VALUE, BreakdownModel
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.plain_delegate import PlainDelegate
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
        self.model = BreakdownModel(self)
        self._sorted = _Sorted(self)
        self._sorted.setSortRole(SORT)
        self._sorted.setSourceModel(self.model)
        self.tree = _Tree()
        self.tree.setModel(self._sorted)
        self.tree.setAccessibleName(_("Parts with formula, value and share"))
        self.tree.setSortingEnabled(True)
        self.tree.sortByColumn(SHARE, Qt.SortOrder.DescendingOrder)
        self.tree.header().setSortIndicatorShown(False)
        self.tree.setUniformRowHeights(True)
        self.tree.setItemDelegate(PlainDelegate(self.tree))
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(FORMULA, QHeaderView.ResizeMode.Stretch)
        for column, sample in ((VALUE, "000.0 MFLOP  "), (SHARE, "0.00000 %    ")):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(column, self.tree.fontMetrics().horizontalAdvance(sample) + 24)
        header.resizeSection(NAME, 22 * self.tree.fontMetrics().averageCharWidth())
        self.tree.setMinimumHeight(8 * self.tree.fontMetrics().height())
        self.body.addWidget(self.tree, 1)

    def show_view(self, view: View | None) -> None:
        """Show the parts of a quantity; the card hides where it has none."""
        self._view = view
        choices = ways(view) if view is not None else ()
        self._by.set_choices(choices)
        if choices and not self._by.value:
            self._by.set_value([choices[0][0]])
        self._by.setVisible(len(choices) > 1)
        self.setVisible(bool(choices))
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


class _Tree(QTreeView):
    """Draws its branches itself: those of the style sheet are pictures read for every row."""

    def drawBranches(
        self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        if not index.model().hasChildren(index):
            return
        arm = self.fontMetrics().height() / 5
        middle = QPointF(rect.right() - self.indentation() / 2, rect.center().y() + 0.5)
        opened = [QPointF(-arm, -arm / 2), QPointF(0, arm / 2), QPointF(arm, -arm / 2)]
        closed = [QPointF(-arm / 2, -arm), QPointF(arm / 2, 0), QPointF(-arm / 2, arm)]
        points = opened if self.isExpanded(index) else closed
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(current().dim), 1.5))
        painter.drawPolyline([middle + point for point in points])
        painter.restore()


class _Sorted(QSortFilterProxyModel):
    """Marks the column that the rows are sorted by in its title."""

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        found = super().headerData(section, orientation, role)
        if role == Qt.ItemDataRole.DisplayRole and section == self.sortColumn():
            falling = self.sortOrder() == Qt.SortOrder.DescendingOrder
            return f"{found} {'↓' if falling else '↑'}"
        return found
