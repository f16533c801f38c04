"""The view of the architecture list: what the mouse and the keys do in it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QListView, QStyleOptionViewItem, QWidget

from costlab.i18n import _
from costlab_gui.model.catalogue import Program, forgotten
from costlab_gui.widgets.architecture_delegate import ArchitectureDelegate
from costlab_gui.widgets.architecture_rows import ROW, ArchitectureRows, Index

_MOST, _FEWEST = 14, 5


class ArchitectureView(QListView):
    """A click on the check box toggles, one on the name shows the formula."""

    def __init__(self, rows: ArchitectureRows, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._delegate = ArchitectureDelegate(self)
        self.setModel(rows)
        self.setItemDelegate(self._delegate)
        self.setAccessibleName(_("Architectures"))
        self.setMouseTracking(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def sizeHint(self) -> QSize:
        """High enough for the whole catalogue, up to a limit."""
        heights = [self.sizeHintForRow(row) for row in range(self._rows.rowCount())]
        return QSize(super().sizeHint().width(), sum(heights[:_MOST]))

    def minimumSizeHint(self) -> QSize:
        line = self.fontMetrics().height()
        return QSize(line * 12, round(line * 1.5 * _FEWEST))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        row = index.data(ROW)
        if event.button() != Qt.MouseButton.LeftButton or not isinstance(row, Program):
            super().mousePressEvent(event)
            return
        self.setCurrentIndex(index)
        option = QStyleOptionViewItem()
        self.initViewItemOption(option)
        option.rect = self.visualRect(index)
        if self._delegate.hits_box(option, event.position().toPoint()):
            self._rows.toggle(row.target)
        else:
            self._explain(row)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        # A second press is a press: two quick clicks on two boxes toggle both.
        self.mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().data(ROW)
        key = event.key()
        if isinstance(row, Program):
            if key == Qt.Key.Key_Space:
                self._rows.toggle(row.target)
                return
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._explain(row)
                return
            if key == Qt.Key.Key_Delete and row.target in self._rows.hub.session.opened:
                self._forget(row)
                return
        super().keyPressEvent(event)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if current.isValid():
            self.scrollTo(current)

    def _explain(self, row: Program) -> None:
        self._rows.hub.change(selected=row.target)

    def _forget(self, row: Program) -> None:
        hub = self._rows.hub
        hub.change(_("close {title}").format(title=row.title), **forgotten(hub.session, row.target))
