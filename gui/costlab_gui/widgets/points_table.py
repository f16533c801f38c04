"""The points of a run as a table: status, time, prediction, error, memory, notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from costlab.i18n import _
from costlab.units import format_value
from costlab_gui.model.measured import NOW, WAITING, Row, status_text, varying
from costlab_gui.theme import fonts
from costlab_gui.theme.tokens import current

_Index = QModelIndex | QPersistentModelIndex
_SIZES, _NUMBERS = 2, (3, 4, 5, 6)
_NOTES = 7


class PointsModel(QAbstractTableModel):
    """Rows as Qt asks for them; ``title`` names a program."""

    def __init__(self, title: Callable[[str], str]) -> None:
        super().__init__()
        self._title = title
        self.rows: list[Row] = []
        self._names: frozenset[str] = frozenset()

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these; the selection and the scroll position stay where rows only changed."""
        names = varying(rows)
        if len(rows) != len(self.rows) or names != self._names:
            self.beginResetModel()
            self._names = names
            self.rows = list(rows)
            self.endResetModel()
            return
        for number, (old, new) in enumerate(zip(self.rows, rows, strict=True)):
            if old != new:
                self.rows[number] = new
                self.dataChanged.emit(self.index(number, 0), self.index(number, _NOTES))

    def rowCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else _NOTES + 1

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.heads()[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return None

    def heads(self) -> list[str]:
        return [
            _("status"), _("architecture"), _("sizes"), _("measured"), _("predicted"), _("error"),
            _("peak"), _("notes"),
        ]  # fmt: skip

    def cells(self, row: Row) -> list[str]:
        """The texts of a row."""
        return [
            status_text(row.status),
            self._title(row.target),
            row.sizes_text(self._names),
            row.time_text(),
            "" if row.predicted_s is None else format_value(row.predicted_s, "s"),
            row.error_text(),
            "" if row.peak_bytes is None else format_value(row.peak_bytes, "B"),
            row.notes,
        ]

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.ToolTipRole and column == _SIZES:
            return row.sizes_text()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.cells(row)[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.FontRole and column in _NUMBERS:
            return fonts.mono_font()
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(row, column)
        return None

    def _colour(self, row: Row, column: int) -> QColor | None:
        theme = current()
        if column == 0 and row.status not in (WAITING, NOW):
            name = theme.bad if row.failed else theme.warn if row.status != "ok" else theme.good
            return QColor(name)
        if row.status == WAITING or column in (_SIZES, _NOTES):
            return QColor(theme.dim)
        return None


class PointsTable(QTableView):
    """Read-only; Ctrl+C copies the selected rows (or all) as tab-separated text."""

    def __init__(self, title: Callable[[str], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.points = PointsModel(title)
        self.setModel(self.points)
        self.setAccessibleName(_("points of the run"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        line = self.fontMetrics().height()
        self.verticalHeader().setDefaultSectionSize(round(line * 1.7))

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these, with columns as wide as their texts."""
        grown = len(rows) != len(self.points.rows)
        before = list(self.points.rows)
        self.points.set_rows(rows)
        if grown or before != list(rows):
            self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.text())
            return
        super().keyPressEvent(event)

    def text(self) -> str:
        """The selected rows, or all, as tab-separated text with a head line."""
        chosen = {index.row() for index in self.selectionModel().selectedRows()}
        rows = [row for n, row in enumerate(self.points.rows) if not chosen or n in chosen]
        lines = [self.points.heads(), *(self.points.cells(row) for row in rows)]
        return "\n".join("\t".join(cells) for cells in lines) + "\n"

    def _fit(self) -> None:
        em = self.fontMetrics().horizontalAdvance("m")
        figures = QFontMetrics(fonts.mono_font())
        heads = self.points.heads()
        lines = [self.points.cells(row) for row in self.points.rows]
        for column in range(_NOTES):
            metrics = figures if column in _NUMBERS else self.fontMetrics()
            widths = [metrics.horizontalAdvance(line[column]) for line in lines]
            widths.append(self.fontMetrics().horizontalAdvance(heads[column]))
            self.setColumnWidth(column, min(max(widths), 15 * em) + round(2.2 * em))


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in _NUMBERS else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
