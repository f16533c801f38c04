"""The rows of an answer as a sortable table, whose columns follow from the job."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from costlab.i18n import _
from costlab_gui.model.plan import Answer, Head
from costlab_gui.widgets.number_table import Cell, Column, NumberTable, TableRow


class PlanTable(QStackedWidget):
    """One table per kind of job, so that each keeps its widths and sorting.

    Signals:
        picked: the row of the answer that is selected, -1 none.
        asked: row and column of a number whose origin is asked for (Enter or double-click).
    """

    picked = Signal(int)
    asked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tables: dict[tuple[Head, ...], NumberTable] = {}

    @property
    def table(self) -> NumberTable | None:
        """The one that is shown."""
        found = self.currentWidget()
        return found if isinstance(found, NumberTable) else None

    def show_answer(self, answer: Answer, selected: int) -> None:
        """Show all rows, with one of them selected."""
        table = self._tables.get(answer.heads) or self._make(answer.heads)
        self.setCurrentWidget(table)
        blocked = table.blockSignals(True)
        table.show_rows([_row(answer, at) for at in range(len(answer.rows))])
        empty = [
            at
            for at, head in enumerate(answer.heads)
            if all(row.get(head.key) is None for row in answer.rows)
        ]
        table.hide_columns(empty)
        table.select_row(selected)
        table.blockSignals(blocked)

    def retheme(self) -> None:
        """Take colours from the theme again."""
        for table in self._tables.values():
            table.retheme()

    def _make(self, heads: tuple[Head, ...]) -> NumberTable:
        columns = [Column(head.title, head.figures, head.hint) for head in heads]
        table = self._tables[heads] = NumberTable(_("plans"), columns)
        table.picked.connect(self.picked)
        table.activated.connect(lambda at, table=table: self._ask(table, at))
        self.addWidget(table)
        return table

    def _ask(self, table: NumberTable, _at: QModelIndex) -> None:
        self.asked.emit(table.selected_row(), _at.column())


def _row(answer: Answer, at: int) -> TableRow:
    row = answer.rows[at]
    cells = []
    for head in answer.heads:
        text, value = answer.text(at, head), row.get(head.key)
        if not head.figures:
            cells.append(Cell(text, hint=str(row.get("text", text))))
        else:
            cells.append(Cell(text, -1.0 if value is None else float(value)))
    return TableRow(tuple(cells))
