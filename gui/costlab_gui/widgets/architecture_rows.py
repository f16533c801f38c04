"""The rows of the architecture list for Qt's views."""

from __future__ import annotations

from typing import Any, Union

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.catalogue import Group, Program, Row, rows, toggled

ROW = Qt.ItemDataRole.UserRole
Index = Union[QModelIndex, QPersistentModelIndex]
_NOTHING = QModelIndex()


class ArchitectureRows(QAbstractListModel):
    """Checking a row adds the program to the comparison."""

    def __init__(self, hub: Hub, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.hub = hub
        self._search = ""
        self._rows: tuple[Row, ...] = ()
        self.refresh()

    @property
    def listed(self) -> tuple[Row, ...]:
        return self._rows

    def search(self, text: str) -> None:
        """Show only what matches."""
        self._search = text
        self.refresh()

    def refresh(self) -> None:
        """Show the session as it is now."""
        found = rows(self.hub.session, self.hub.workspace, self._search)
        if _keys(found) != _keys(self._rows):
            self.beginResetModel()
            self._rows = found
            self.endResetModel()
            return
        before, self._rows = self._rows, found
        for place, (old, new) in enumerate(zip(before, found, strict=True)):
            if old != new:
                self.dataChanged.emit(self.index(place), self.index(place))

    def place(self, target: str) -> QModelIndex:
        """Where a program is listed; an invalid index if it is not."""
        for place, row in enumerate(self._rows):
            if isinstance(row, Program) and row.target == target:
                return self.index(place)
        return QModelIndex()

    def first(self) -> QModelIndex:
        """The first program listed."""
        for place, row in enumerate(self._rows):
            if isinstance(row, Program):
                return self.index(place)
        return QModelIndex()

    def toggle(self, target: str) -> None:
        """Add a program to the comparison, or take it out."""
        session = self.hub.session
        title = self.hub.workspace.title(target)
        words = _taken(title) if target in session.programs else _added(title)
        self.hub.change(words, **toggled(session, target))

    def rowCount(self, parent: Index = _NOTHING) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flag = Qt.ItemFlag
        if not isinstance(index.data(ROW), Program):
            return flag.NoItemFlags
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemIsUserCheckable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        roles = Qt.ItemDataRole
        if role == ROW:
            return row
        if isinstance(row, Group):
            return row.title if role in (roles.DisplayRole, roles.AccessibleTextRole) else None
        if role == roles.DisplayRole:
            return row.title
        if role == roles.CheckStateRole:
            return Qt.CheckState.Checked if row.chosen else Qt.CheckState.Unchecked
        if role == roles.AccessibleTextRole:
            return row.spoken
        if role == roles.ToolTipRole:
            return "\n".join(part for part in (row.full_title, row.order, row.problem) if part)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = index.data(ROW)
        if role != Qt.ItemDataRole.CheckStateRole or not isinstance(row, Program):
            return False
        if (Qt.CheckState(value) == Qt.CheckState.Checked) != row.chosen:
            self.toggle(row.target)
        return True


def _keys(listed: tuple[Row, ...]) -> list[str]:
    return [row.title if isinstance(row, Group) else row.target for row in listed]


def _added(title: str) -> str:
    return _("compare {title}").format(title=title)


def _taken(title: str) -> str:
    return _("take out {title}").format(title=title)
