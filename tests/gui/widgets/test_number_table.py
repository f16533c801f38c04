"""The table of figures: sorted by value, wide enough, and steady while numbers change."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from pytestqt.qtbot import QtBot

from costlab_gui.widgets.number_table import Cell, Column, NumberTable, TableRow

COLUMNS = [Column("name", figures=False), Column("time")]


def rows(values: Sequence[tuple[str, float]]) -> list[TableRow]:
    return [
        TableRow((Cell(name), Cell(f"{value:g} ms", value)), colour=at)
        for at, (name, value) in enumerate(values)
    ]


@pytest.fixture
def table(qtbot: QtBot) -> NumberTable:
    made = NumberTable("times", COLUMNS)
    qtbot.addWidget(made)
    made.show_rows(rows([("b", 9.0), ("a", 100.0), ("c", 20.0)]))
    made.show()
    return made


def names(table: NumberTable) -> list[object]:
    model = table.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def test_rows_stand_as_given_until_sorted_by_value(table: NumberTable) -> None:
    assert names(table) == ["b", "a", "c"]
    table.sort_menu().actions()[1].trigger()
    assert names(table) == ["a", "c", "b"]
    table.sort_menu().actions()[0].trigger()
    assert names(table) == ["a", "b", "c"]


def test_the_selection_is_told_by_the_order_given_and_stays(table: NumberTable) -> None:
    told: list[int] = []
    table.picked.connect(told.append)
    table.sort_menu().actions()[1].trigger()
    table.select_row(2)
    table.show_rows(rows([("c", 500.0), ("b", 9.0)]))

    assert told[0] == 2
    assert table.selected_row() == 0
    assert table.model().index(table.currentIndex().row(), 0).data() == "c"


def test_columns_fit_their_texts_and_do_not_shrink(table: NumberTable) -> None:
    table.show_rows(rows([("a long name of a program", 123456.5), ("b", 1.0)]))
    wide = [table.columnWidth(0), table.columnWidth(1)]
    needed = QFontMetrics(table.font()).horizontalAdvance("a long name of a program")
    table.show_rows(rows([("a", 1.0), ("b", 1.0)]))

    assert wide[0] > needed + table.iconSize().width()
    assert [table.columnWidth(0), table.columnWidth(1)] == wide


def test_figures_are_on_the_right_and_read_with_their_head(table: NumberTable) -> None:
    cell = table.model().index(0, 1)

    alignment = cell.data(Qt.ItemDataRole.TextAlignmentRole)
    assert Qt.AlignmentFlag(alignment) & Qt.AlignmentFlag.AlignRight
    assert cell.data(Qt.ItemDataRole.AccessibleTextRole) == "time: 9 ms"
    assert not table.model().index(0, 0).data(Qt.ItemDataRole.DecorationRole).isNull()
