"""A table of figures: sortable by header or by menu, with a colour chip per row."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Union

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelection,
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

from costlab.figures.palette import style
from costlab.figures.pen import Pen
from costlab.i18n import _
from costlab_gui.export import renderer_of
from costlab_gui.theme import fonts
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.plain_delegate import PlainDelegate

Index = Union[QModelIndex, QPersistentModelIndex]
_ROLE = Qt.ItemDataRole
SORT_ROLE = int(_ROLE.UserRole)
_MOST_EM = 30  # width of a column at most, in lines of text


@dataclass(frozen=True, slots=True)
class Column:
    """A head; figures are right-aligned and in the font of figures; ``hint`` explains it."""

    title: str
    figures: bool = True
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell, what it is sorted by, and its tool tip."""

    text: str
    key: Union[float, str] = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells in the order of the columns; ``colour`` is an index into the palette, -1 none."""

    cells: tuple[Cell, ...]
    colour: int = -1


class NumberTable(QTableView):
    """Shows rows; what is selected and how it is sorted survive new rows.

    Signals:
        picked: the number of the selected row in the order given, -1 none.
    """

    picked = Signal(int)

    def __init__(self, name: str, columns: Sequence[Column], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._rows = _Rows(columns)
        self._fitted = False
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSourceModel(self._rows)
        self._sorted.setSortRole(SORT_ROLE)
        self.setModel(self._sorted)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setItemDelegate(PlainDelegate(self))
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        height = self.fontMetrics().height()
        self.setIconSize(QSize(2 * height, height))
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(round(1.7 * height))
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setHighlightSections(False)
        header.setStretchLastSection(not columns[-1].figures)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(
            lambda at: self.sort_menu().popup(self.viewport().mapToGlobal(at))
        )
        self.selectionModel().selectionChanged.connect(self._selection_changed)

    def show_rows(self, rows: Sequence[TableRow]) -> None:
        """Show ``rows``; the selected one stays if it has the same first cell."""
        self._fit(rows)
        kept = self.selected_row()
        name = self._rows.rows[kept].cells[0].text if kept >= 0 else None
        self._rows.replace(rows)
        if name is not None:
            number = next((i for i, row in enumerate(rows) if row.cells[0].text == name), -1)
            self.select_row(number)

    def hide_columns(self, hidden: Container[int]) -> None:
        """Hide exactly these columns."""
        for number in range(len(self._rows.columns)):
            self.setColumnHidden(number, number in hidden)

    def selected_row(self) -> int:
        """Number of the selected row in the order given; -1 none."""
        chosen = self.selectionModel().selectedRows()
        return self._sorted.mapToSource(chosen[0]).row() if chosen else -1

    def select_row(self, number: int) -> None:
        """Select a row of the order given; -1 selects none."""
        if number < 0:
            self.clearSelection()
        else:
            self.selectRow(self._sorted.mapFromSource(self._rows.index(number, 0)).row())

    def sort_menu(self) -> QMenu:
        """Sorting for the keyboard: headers cannot be reached by it."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for number, column in enumerate(self._rows.columns):
            order = Qt.SortOrder.DescendingOrder if column.figures else Qt.SortOrder.AscendingOrder
            action = menu.addAction(_("Sort by {column}").format(column=column.title))
            action.triggered.connect(
                lambda _on=False, number=number, order=order: self.sortByColumn(number, order)
            )
        return menu

    def retheme(self) -> None:
        """Draw the chips in the colours of the theme."""
        self._rows.forget_chips()
        self.viewport().update()

    def _fit(self, rows: Sequence[TableRow]) -> None:
        """Widen columns for new texts; they never shrink, so nothing jumps while sizes change."""
        plain, figures = self.fontMetrics(), QFontMetrics(self._rows.figures)
        padding = round(1.5 * plain.height())
        for number, column in enumerate(self._rows.columns):
            metrics = figures if column.figures else plain
            widest = max((metrics.horizontalAdvance(r.cells[number].text) for r in rows), default=0)
            if number == 0 and any(row.colour >= 0 for row in rows):
                widest += self.iconSize().width() + padding // 3
            widest = max(widest, plain.horizontalAdvance(column.title)) + padding
            widest = min(widest, _MOST_EM * plain.height())
            if widest > self.columnWidth(number) or not self._fitted:
                self.setColumnWidth(number, widest)
        self._fitted = self._fitted or bool(rows)

    def _selection_changed(self, chosen: QItemSelection, _left: QItemSelection) -> None:
        self.picked.emit(self.selected_row())


class _Rows(QAbstractTableModel):
    def __init__(self, columns: Sequence[Column]) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.rows: tuple[TableRow, ...] = ()
        self._chips: dict[int, QIcon] = {}
        self.figures = fonts.mono_font()

    def replace(self, rows: Sequence[TableRow]) -> None:
        if len(rows) == len(self.rows):
            self.rows = tuple(rows)
            if rows:
                last = self.index(len(rows) - 1, len(self.columns) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self.rows = tuple(rows)
        self.endResetModel()

    def forget_chips(self) -> None:
        self._chips.clear()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = int(_ROLE.DisplayRole)
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = self.columns[section]
        if role == _ROLE.DisplayRole:
            return column.title
        if role == _ROLE.ToolTipRole:
            return column.hint or None
        if role == _ROLE.TextAlignmentRole:
            return self._alignment(section)
        return None

    def data(self, index: Index, role: int = int(_ROLE.DisplayRole)) -> Any:
        row, column = self.rows[index.row()], index.column()
        cell = row.cells[column]
        if role == _ROLE.DisplayRole:
            return cell.text
        if role == SORT_ROLE:
            return cell.key if cell.key != "" else cell.text
        if role == _ROLE.ToolTipRole:
            return cell.hint or None
        if role == _ROLE.TextAlignmentRole:
            return self._alignment(column)
        if role == _ROLE.FontRole and self.columns[column].figures:
            return self.figures
        if role == _ROLE.DecorationRole and column == 0 and row.colour >= 0:
            return self._chip(row.colour)
        if role == _ROLE.AccessibleTextRole:
            return f"{self.columns[column].title}: {cell.text}"
        return None

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if self.columns[column].figures else (
            Qt.AlignmentFlag.AlignLeft
        )  # fmt: skip
        return side | Qt.AlignmentFlag.AlignVCenter

    def _chip(self, colour: int) -> QIcon:
        """The dash and marker of a series, as in the legend."""
        if colour not in self._chips:
            pen = Pen(current().name)
            shown = style(colour)
            body = pen.path("M1 8H31", pen.colour(colour), 2, shown.dash) + pen.marker(
                (16, 8), shown.marker, pen.colour(colour)
            )
            picture = QPixmap(64, 32)
            picture.fill(QColor(0, 0, 0, 0))
            painter = QPainter(picture)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            renderer_of(pen.document([body], (32, 16), "", "", False)).render(painter)
            painter.end()
            self._chips[colour] = QIcon(picture)
        return self._chips[colour]
