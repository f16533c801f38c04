"""Plots beside and above each other, all of one size."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

_SHAPE = 1.5
"""Width over height that plots are easiest to read at."""


class PanelGrid(QWidget):
    """Arranges its panels in as many columns as bring them closest to a good shape."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._panels: list[QWidget] = []
        self._columns = 0
        self._layout = QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)

    def show_panels(self, panels: Sequence[QWidget]) -> None:
        """Show these, in this order; others are hidden and kept."""
        if list(panels) == self._panels:
            return
        for panel in self._panels:
            self._layout.removeWidget(panel)
            panel.setVisible(panel in panels)
        self._panels = list(panels)
        self._columns = 0
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        count = len(self._panels)
        if not count:
            return
        width, height = max(self.width(), 1), max(self.height(), 1)

        def distance(columns: int) -> float:
            rows = -(-count // columns)
            em = self.fontMetrics().height()
            # Axes and their labels take this much of each panel.
            inner = max(width / columns - 6 * em, 1.0), max(height / rows - 3 * em, 1.0)
            shape = inner[0] / inner[1]
            off = shape / _SHAPE - 1 if shape > _SHAPE else _SHAPE / shape - 1
            return off + (0.4 if count % columns else 0.0)

        columns = min(range(1, count + 1), key=distance)
        if columns == self._columns:
            return
        for row in range(self._layout.rowCount()):
            self._layout.setRowStretch(row, 0)
        for column in range(self._layout.columnCount()):
            self._layout.setColumnStretch(column, 0)
        self._columns = columns
        for number, panel in enumerate(self._panels):
            row, column = divmod(number, columns)
            last = number == count - 1
            span = columns - column if last else 1
            self._layout.addWidget(panel, row, column, 1, span)
            panel.show()
            self._layout.setRowStretch(row, 1)
            self._layout.setColumnStretch(column, 1)
