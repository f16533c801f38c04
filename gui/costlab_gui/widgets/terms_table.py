"""The terms of a formula as a table: term, numbers put in, value and share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSizePolicy, QTableView, QWidget

from costlab.algebra import Number
from costlab.i18n import _
from costlab_gui.model.formula import Part
from costlab_gui.model.wording import share_text
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.plain_delegate import PlainDelegate
from costlab_gui.widgets.term_colours import term_colour

_TERM, _NUMBERS, _VALUE, _SHARE = range(4)
_Index = QModelIndex | QPersistentModelIndex
_NONE = QModelIndex()


class _Terms(QAbstractTableModel):
    """Values change in place while the terms stay the same."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._parts: tuple[Part, ...] = ()
        self._say: Callable[[Number], str] = str

    def show_parts(self, parts: tuple[Part, ...], say: Callable[[Number], str]) -> bool:
        """Returns whether there are more or fewer rows than before."""
        if len(parts) != len(self._parts):
            self.beginResetModel()
            self._parts, self._say = parts, say
            self.endResetModel()
            return True
        self._parts, self._say = parts, say
        if parts:
            self.dataChanged.emit(self.index(0, 0), self.index(len(parts) - 1, _SHARE))
        return False

    def rowCount(self, parent: _Index = _NONE) -> int:
        return 0 if parent.isValid() else len(self._parts)

    def columnCount(self, parent: _Index = _NONE) -> int:
        return _SHARE + 1

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return (_("term"), _("with numbers"), _("value"), _("share"))[section]
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        part, column = self._parts[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole or role == Qt.ItemDataRole.ToolTipRole:
            return self._text(part, column)
        if role == Qt.ItemDataRole.ForegroundRole and column == _TERM:
            return QColor(term_colour(current(), part.colour))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            right = column in (_VALUE, _SHARE)
            side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def _text(self, part: Part, column: int) -> str:
        sign = "−" if part.term.negative else ""
        if column == _TERM:
            return f"■ {sign}{part.term.text}"
        if column == _NUMBERS:
            return "" if part.numbers == self._say(part.value) else f"= {sign}{part.numbers}"
        return self._say(part.value) if column == _VALUE else share_text(part.share)


class TermsTable(QTableView):
    """As high as its rows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._terms = _Terms(self)
        self.setModel(self._terms)
        self.setItemDelegate(PlainDelegate(self))
        self.setAccessibleName(_("Terms with numbers, values and shares"))
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._measure()

    def show_parts(self, parts: tuple[Part, ...], say: Callable[[Number], str]) -> None:
        """Show terms; ``say`` writes a value."""
        if self._terms.show_parts(parts, say):
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        rows = self._terms.rowCount() * self.verticalHeader().defaultSectionSize()
        return QSize(super().sizeHint().width(), rows + 2 * self.frameWidth())

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * self.fontMetrics().averageCharWidth(), self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._measure()

    def _measure(self) -> None:
        metrics = self.fontMetrics()
        header = self.horizontalHeader()
        header.setSectionResizeMode(_TERM, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_NUMBERS, QHeaderView.ResizeMode.Stretch)
        for column, sample in ((_VALUE, "000.0 MFLOP"), (_SHARE, "0.00000 %")):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(column, round(1.35 * metrics.horizontalAdvance(sample)))
        rows = self.verticalHeader()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setMinimumSectionSize(1)
        rows.setDefaultSectionSize(round(1.5 * metrics.height()))
        self.updateGeometry()
