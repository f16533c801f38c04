"""The page of one formula."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QLabel, QPushButton, QTableView
from pytestqt.qtbot import QtBot

from costlab.units import format_value
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.explore import point
from costlab_gui.model.formula import QUANTITIES
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.formula_page import FormulaPage
from costlab_gui.widgets.segmented import SegmentedControl


@pytest.fixture
def hub() -> Hub:
    setting = replace(Setting(), device="cpu-2core")
    return Hub(Document(Session(page="formula", setting=setting)), Workspace())


@pytest.fixture
def page(qtbot: QtBot, hub: Hub) -> FormulaPage:
    found = FormulaPage(hub)
    qtbot.addWidget(found)
    found.resize(760, 800)
    found.show()
    qtbot.waitUntil(lambda: found.sheet.math.is_drawn and "✓" in _text(found))
    return found


def _text(page: FormulaPage) -> str:
    found = [label.text() for label in page.findChildren(QLabel)]
    return " ".join(found + [button.text() for button in page.findChildren(QPushButton)])


def _cells(page: FormulaPage) -> list[list[str]]:
    model = page.findChildren(QTableView)[0].model()
    return [
        [str(model.index(row, column).data()) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def _tree(page: FormulaPage) -> list[tuple[str, str]]:
    model = page.parts.tree.model()
    return [
        (str(model.index(row, 0).data()), str(model.index(row, 2).data()))
        for row in range(model.rowCount(QModelIndex()))
    ]


def test_terms_with_numbers_values_and_shares(page: FormulaPage) -> None:
    first = _cells(page)[0]

    assert first[0].endswith("4·b·n²·d")
    assert first[1] == "= 4·1·4096²·512"
    assert first[2] == "34.4 GFLOP"
    assert first[3] == "78.8 %"
    assert "proved by a symbolic run" in _text(page)
    assert "nothing: every operator has a rule" in _text(page)


def test_values_follow_a_drag_and_nothing_folds_shut(hub: Hub, page: FormulaPage) -> None:
    tree = page.parts.tree
    opened = tree.model().index(1, 0)
    assert opened.data() == "mm"
    assert tree.isExpanded(opened)
    tree.collapse(opened)
    drag = hub.new_drag()

    for n in (3072, 2048, 1024):
        hub.change("n", drag, sizes={"n": n})
        hub.flush()

    prediction = point(hub.session.setting, hub.workspace, "full_attention", {})
    assert format_value(prediction.flop, "FLOP") in _text(page)
    assert page.sheet.math.is_drawn  # the formula is the same: nothing is drawn again
    names = [name for name, _value in _tree(page)]
    assert not tree.isExpanded(tree.model().index(names.index("mm"), 0))


def test_every_quantity_can_be_looked_at(page: FormulaPage) -> None:
    for quantity in QUANTITIES:
        page.show_quantity(quantity)
        assert page.quantity == quantity
        assert page.parts.isVisible() == bool(_tree(page))

    page.show_quantity("time")
    assert "bmm" in [name for name, _value in _tree(page)]
    page.show_quantity("state_bytes")
    assert "carries no state" in _text(page)


def test_parts_by_module_sorted(page: FormulaPage) -> None:
    (by,) = page.parts.findChildren(SegmentedControl)
    by.button("module").click()

    assert _tree(page)[0][0] == "core"
    page.parts.tree.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    names = [name for name, _value in _tree(page)]
    assert names == sorted(names)


def test_core(page: FormulaPage) -> None:
    scope = next(c for c in page.findChildren(SegmentedControl) if c.accessibleName() == "scope")
    scope.button("core").click()

    assert _cells(page)[0][0].endswith("4·b·n²·d")
    assert not any("8·b·n·d²" in cells[0] for cells in _cells(page))


def test_another_program(hub: Hub, page: FormulaPage) -> None:
    hub.change(selected="lstm")
    hub.flush()

    assert "16·b·n·d²" in _cells(page)[0][0]
    hub.change("own", programs=("own.py:build",), selected="own.py:build")
    hub.flush()
    assert "no formulas yet" in _text(page)
    assert not page.parts.isVisible()
