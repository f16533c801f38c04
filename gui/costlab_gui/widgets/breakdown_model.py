"""A breakdown as Qt's item model: parts, their formulas, values and shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from costlab.formulas.plain import formula
from costlab.i18n import _
from costlab.units import format_value
from costlab_gui.model.breakdown import Row
from costlab_gui.model.wording import share_text
from costlab_gui.widgets.plain_delegate import SHARE as BAR

NAME, FORMULA, VALUE, SHARE = range(4)
SORT = Qt.ItemDataRole.UserRole
_Index = QModelIndex | QPersistentModelIndex
_NONE = QModelIndex()


class _Node:
    """A row with its place in the tree; the row is exchanged when sizes change."""

    __slots__ = ("children", "number", "parent", "row")

    def __init__(self, row: Row, parent: _Node | None, number: int) -> None:
        self.row = row
        self.parent = parent
        self.number = number
        self.children = [_Node(child, self, i) for i, child in enumerate(row.children)]


class BreakdownModel(QAbstractItemModel):
    """Values change in place as long as the parts stay the same, so that nothing folds shut."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._top: list[_Node] = []
        self._shape: Any = ()
        self._unit = ""

    def show_rows(self, rows: tuple[Row, ...], unit: str) -> bool:
        """Show ``rows``; returns whether the parts are other ones than before."""
        shape = (unit, tuple(map(_shape, rows)))
        if shape != self._shape:
            self.beginResetModel()
            self._shape, self._unit = shape, unit
            self._top = [_Node(row, None, number) for number, row in enumerate(rows)]
            self.endResetModel()
            return True
        for node, row in zip(self._top, rows, strict=True):
            _exchange(node, row)
        self._tell(QModelIndex())
        return False

    def _tell(self, parent: QModelIndex) -> None:
        """Values and shares below ``parent`` are new."""
        last = self.rowCount(parent) - 1
        if last >= 0:
            self.dataChanged.emit(self.index(0, FORMULA, parent), self.index(last, SHARE, parent))
        for row in range(last + 1):
            self._tell(self.index(row, 0, parent))

    def rows(self) -> Iterator[Row]:
        """The rows of the top."""
        return (node.row for node in self._top)

    def index(self, row: int, column: int, parent: _Index = _NONE) -> QModelIndex:
        nodes = self._children(parent)
        if not 0 <= row < len(nodes) or not 0 <= column <= SHARE:
            return QModelIndex()
        return self.createIndex(row, column, nodes[row])

    def parent(self, index: _Index) -> QModelIndex:  # type: ignore[override]
        node = index.internalPointer() if index.isValid() else None
        above = node.parent if isinstance(node, _Node) else None
        return QModelIndex() if above is None else self.createIndex(above.number, 0, above)

    def rowCount(self, parent: _Index = _NONE) -> int:
        return 0 if parent.isValid() and parent.column() else len(self._children(parent))

    def columnCount(self, parent: _Index = _NONE) -> int:
        return SHARE + 1

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        titles = (_("part"), _("formula"), _("value"), _("share"))
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        node = index.internalPointer()
        if not isinstance(node, _Node):
            return None
        row, column = node.row, index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.detail if column == NAME else self._text(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == BAR and column == SHARE:
            return row.share
        if role == SORT:
            return float(row.value) if column in (VALUE, SHARE) else self._text(row, column)
        return None

    def _text(self, row: Row, column: int) -> str:
        if column == NAME:
            return row.name
        if column == FORMULA:
            return row.note if row.expr is None else formula(row.expr)
        if column == VALUE:
            return format_value(row.value, self._unit)
        return share_text(row.share)

    def _children(self, parent: _Index) -> list[_Node]:
        node = parent.internalPointer() if parent.isValid() else None
        return node.children if isinstance(node, _Node) else self._top


def _shape(row: Row) -> Any:
    """What decides the look of a row but for its numbers."""
    return (row.name, row.expr, tuple(map(_shape, row.children)))


def _exchange(node: _Node, row: Row) -> None:
    node.row = row
    for child, own in zip(node.children, row.children, strict=True):
        _exchange(child, own)


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in (VALUE, SHARE) else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
