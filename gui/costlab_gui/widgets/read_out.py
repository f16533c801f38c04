"""The docked table of the values at the crosshair."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from costlab.i18n import _
from costlab_gui.model.read_out import PROGRAM, ReadOut
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.read_out_model import (
    COLOUR_ROLE,
    TARGET_ROLE,
    Index,
    ReadOutModel,
)
from costlab_gui.widgets.samples import paint_sample

_ROW = 1.7  # lines of text
_ROWS = 6  # as many are shown without scrolling where there is room


class _SampleDelegate(QStyledItemDelegate):
    """Draws a sample of the curve before the name."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colour = index.data(COLOUR_ROLE)
        width = self.sample_width(option)
        inner = QStyleOptionViewItem(option)
        self.initStyleOption(inner, index)
        text, inner.text = inner.text, ""
        style = option.widget.style()
        style.drawControl(style.ControlElement.CE_ItemViewItem, inner, painter, option.widget)
        box: QRect = option.rect
        gap = option.fontMetrics.height() // 2
        if colour is not None:
            paint_sample(painter, QRect(box.left() + gap, box.top(), width, box.height()), colour)
            left = box.left() + width + 2 * gap
        else:
            left = box.left() + gap
        painter.save()
        painter.setFont(inner.font)
        brush = index.data(Qt.ItemDataRole.ForegroundRole)
        painter.setPen(QColor(brush) if brush is not None else QColor(current().text))
        room = QRect(left, box.top(), box.right() - left, box.height())
        text = option.fontMetrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        hint = super().sizeHint(option, index)
        return QSize(hint.width() + self.sample_width(option) + hint.height(), hint.height())

    def sample_width(self, option: QStyleOptionViewItem) -> int:
        return int(option.fontMetrics.height() * 1.8)


def _shape_of(read_out: ReadOut) -> object:
    """What the layout of the table depends on."""
    problems = tuple(bool(row.problem) for row in read_out.rows)
    return tuple(read_out.columns), problems, bool(read_out.doubling)


class ReadOutTable(QFrame):
    """The values at the crosshair; a click, Enter or Space on a row selects its program.

    Signals:
        chosen: target of the row that the user picked.
        origin_asked: target and column of a number whose origin is wanted (double click, or "O").
    """

    chosen = Signal(str)
    origin_asked = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "card")
        self.model = ReadOutModel(self)
        self.heading = QLabel()
        self.heading.setProperty("role", "strong")
        copy = QToolButton()
        copy.setText(_("Copy"))
        copy.setProperty("role", "quiet")
        copy.setToolTip(_("Copy the table as tab-separated values (Ctrl+C)"))
        copy.setAccessibleName(_("Copy the read-out"))
        copy.clicked.connect(self.copy)
        self.view = QTableView()
        self.view.setModel(self.model)
        self.view.setAccessibleName(_("Values at the crosshair"))
        self.view.setShowGrid(False)
        self.view.setWordWrap(False)
        self.view.verticalHeader().hide()
        self.view.setTabKeyNavigation(False)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.view.setFrameShape(QFrame.Shape.NoFrame)
        self.view.setItemDelegateForColumn(0, _SampleDelegate(self.view))
        self.view.clicked.connect(self._picked)
        self.view.doubleClicked.connect(self._explain)
        self.view.setToolTip(_("Double-click a number to see where it comes from"))
        self.view.installEventFilter(self)
        head = QHBoxLayout()
        head.addWidget(self.heading, 1)
        head.addWidget(copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(4)
        column.addLayout(head)
        column.addWidget(self.view, 1)
        self._widths: dict[int, int] = {}
        self._shape()

    def show_read_out(self, read_out: ReadOut, selected: str) -> None:
        """Show values and mark the selected program's row."""
        before = _shape_of(self.model.shown)
        self.model.show_read_out(read_out)
        self.heading.setText(read_out.heading)
        if before != _shape_of(read_out):
            self._shape()
        self._fit_columns(read_out)
        row = self.model.row_of(selected)
        if row is None:
            self.view.clearSelection()
        elif self.view.currentIndex().row() != row or not self.view.selectionModel().isSelected(
            self.model.index(row, 0)
        ):
            self.view.selectRow(row)

    def copy(self) -> None:
        """Put the numbers on the clipboard as tab-separated values."""
        QGuiApplication.clipboard().setText(self.model.shown.to_tsv())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.matches(QKeySequence.StandardKey.Copy):
                self.copy()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
                self._picked(self.view.currentIndex())
                return True
            if event.key() == Qt.Key.Key_O:
                self._explain(self.view.currentIndex())
                return True
        return super().eventFilter(watched, event)

    def retheme(self) -> None:
        """Take colours from the theme again."""
        self.view.viewport().update()

    def sizeHint(self) -> QSize:
        rows = min(max(self.model.rowCount(), 3), _ROWS)
        return QSize(40 * self.fontMetrics().height(), self._height(rows))

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * self.fontMetrics().height(), self._height(2))

    def _height(self, rows: int) -> int:
        height = self.fontMetrics().height()
        return int((4.6 + _ROW * rows) * height)

    def _picked(self, index: Index) -> None:
        target = index.data(TARGET_ROLE) if index.isValid() else None
        if target:
            self.chosen.emit(target)

    def _explain(self, index: Index) -> None:
        target = index.data(TARGET_ROLE) if index.isValid() else None
        if target:
            self.origin_asked.emit(target, list(self.model.shown.columns)[index.column()])

    def _shape(self) -> None:
        """Rows as high as the text needs; a sentence over the columns where nothing is known."""
        height = int(self.fontMetrics().height() * _ROW)
        self.view.verticalHeader().setDefaultSectionSize(height)
        self.view.verticalHeader().setMinimumSectionSize(height)
        header = self.view.horizontalHeader()
        header.setHighlightSections(False)
        self.view.clearSpans()
        columns = self.model.columnCount()
        if columns:
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
            header.setMinimumSectionSize(5 * self.fontMetrics().height())
        for number, row in enumerate(self.model.shown.rows):
            if row.problem and columns > 2:
                self.view.setSpan(number, 1, 1, columns - 1)
        self._widths = {}
        self.updateGeometry()

    def _fit_columns(self, read_out: ReadOut) -> None:
        """Columns as wide as their widest text so far: digits that change do not move them."""
        header = self.view.horizontalHeader()
        body, head = self.view.fontMetrics(), header.fontMetrics()
        for column, (key, title) in enumerate(read_out.columns.items()):
            if key == PROGRAM:
                continue
            texts = [row.texts.get(key, "") for row in read_out.rows]
            wanted = max(map(body.horizontalAdvance, [*texts, read_out.doubling.get(key, "")]))
            wanted = max(wanted, head.horizontalAdvance(title)) + int(1.7 * body.height())
            if wanted > self._widths.get(column, 0):
                self._widths[column] = wanted
                self.view.setColumnWidth(column, wanted)
