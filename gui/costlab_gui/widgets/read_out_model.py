"""The values at the crosshair as a table model."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from costlab_gui.model.read_out import BOUND, PROGRAM, ReadOut
from costlab_gui.theme.tokens import current

Index = QModelIndex | QPersistentModelIndex
_EMPTY = ReadOut("", {}, (), {})
_LEFT = (PROGRAM, BOUND)
_DISPLAY, _ALIGN = Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.TextAlignmentRole
_PEN = Qt.ItemDataRole.ForegroundRole
_TO_THE_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_TO_THE_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
COLOUR_ROLE = Qt.ItemDataRole.UserRole
TARGET_ROLE = Qt.ItemDataRole.UserRole + 1


class ReadOutModel(QAbstractTableModel):
    """A :class:`ReadOut` for views; the last row holds the factors of doubling, if any."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.shown = _EMPTY
        self._keys: list[str] = []

    def show_read_out(self, read_out: ReadOut) -> None:
        """Show other values; rows are added or removed only where their number changes."""
        before, keys = self.shown, list(read_out.columns)
        same = keys == self._keys and len(before.rows) == len(read_out.rows)
        same = same and bool(before.doubling) == bool(read_out.doubling)
        if not same:
            self.beginResetModel()
        self.shown, self._keys = read_out, keys
        if not same:
            self.endResetModel()
        elif before != read_out:
            end = self.index(self.rowCount() - 1, self.columnCount() - 1)
            # The names stay while numbers run, and need not be drawn again.
            first = int(_names(before) == _names(read_out) and len(keys) > 1)
            self.dataChanged.emit(self.index(0, first), end)

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.shown.rows) + bool(self.shown.doubling)

    def columnCount(self, parent: Index | None = None) -> int:
        return len(self._keys)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        key = self._keys[index.column()]
        if role == _ALIGN:
            return _TO_THE_LEFT if key in _LEFT else _TO_THE_RIGHT
        if index.row() >= len(self.shown.rows):
            return self._doubling(key, role)
        row = self.shown.rows[index.row()]
        if role == _DISPLAY:
            if row.problem and key == self._keys[1]:
                return row.problem
            return row.texts.get(key, "")
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.problem or None
        if role == _PEN and row.problem:
            return QColor(current().dim)
        if role == COLOUR_ROLE and key == PROGRAM:
            return row.colour
        return row.target if role == TARGET_ROLE else None

    def _doubling(self, key: str, role: int) -> object:
        if role == _DISPLAY:
            return self.shown.doubling.get(key, "")
        return QColor(current().dim) if role == _PEN else None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        key = self._keys[section]
        if role == _DISPLAY:
            return self.shown.columns[key]
        if role == _ALIGN:
            return _TO_THE_LEFT if key in _LEFT else _TO_THE_RIGHT
        return None

    def row_of(self, target: str) -> int | None:
        """The row of a program."""
        targets = [row.target for row in self.shown.rows]
        return targets.index(target) if target in targets else None


def _names(read_out: ReadOut) -> object:
    """What the first column shows."""
    rows = [(row.target, row.title, row.colour, row.problem) for row in read_out.rows]
    return rows, read_out.doubling.get(PROGRAM)
