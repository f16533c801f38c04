"""The roofline page: mark, table row and sentence are one selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab.figures import to_csv, to_svg
from costlab.hardware.machine import Machine
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.roofline_page import OPERATORS, RooflinePage
from tests.gui.cached_machine import calibration

SESSION = Session(setting=replace(Setting(), device="A100-80G-SXM"), page="roofline")


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[RooflinePage]:
    hub = Hub(Document(SESSION), Workspace())
    made = RooflinePage(hub)
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    yield made
    hub.closing.emit()


def names(page: RooflinePage) -> list[str]:
    model = page.table.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def test_a_point_row_and_sentence_are_one_selection(page: RooflinePage, qtbot: QtBot) -> None:
    row = page.shown.rows[1]
    assert page.plot.frame is not None
    at = page.plot.to_widget(*page.plot.frame.at(row.intensity, row.rate)).toPoint()

    qtbot.mouseClick(page.plot, Qt.MouseButton.LeftButton, pos=at)

    assert page.table.selected_row() == 1
    assert row.name in page.read_out.text()
    assert "of 19.5 TFLOP/s attainable" in page.read_out.text()
    outlined = page.plot.outlined
    assert outlined is not None
    assert outlined.contains(*page.plot.frame.at(row.intensity, row.rate))
    page.table.select_row(2)
    assert page.shown.rows[2].name in page.read_out.text()


def test_arrow_keys_go_through_the_points_by_intensity(page: RooflinePage, qtbot: QtBot) -> None:
    seen = []
    for _step in page.shown.rows:
        qtbot.keyClick(page.plot, Qt.Key.Key_Right)
        seen.append(page.table.selected_row())

    rows = page.shown.rows
    assert sorted(seen) == list(range(len(rows)))
    assert [rows[i].intensity for i in seen] == sorted(row.intensity for row in rows)


def test_operators_of_the_selected_program_follow_the_session(page: RooflinePage) -> None:
    page.choice.button(OPERATORS).click()
    full = names(page)
    page.hub.change(selected="lstm")
    page.hub.flush()

    assert "bmm" in full
    assert names(page) and "bmm" not in names(page)
    assert "LSTM" in page.title + page.plot.spec.title  # type: ignore[union-attr]


def test_the_table_sorts_by_figures_and_keeps_the_selection(page: RooflinePage) -> None:
    page.table.select_row(0)
    sort = page.table.sort_menu().actions()[1]
    sort.trigger()

    order = [next(r.intensity for r in page.shown.rows if r.name == name) for name in names(page)]
    assert order == sorted(order, reverse=True)
    page.hub.change(sizes={"n": 8192})
    page.hub.flush()
    assert page.table.selected_row() == 0
    assert page.shown.rows[0].name in page.read_out.text()


def test_the_export_is_the_picture_and_its_numbers(
    page: RooflinePage, qtbot: QtBot, tmp_path: Path
) -> None:
    spec = page.figure()
    assert spec is not None

    page.hub.asked.emit("export plot", tmp_path / "a.svg")
    page.hub.asked.emit("export plot", tmp_path / "a.csv")
    qtbot.waitUntil(lambda: not page.hub.worker.busy)

    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == to_svg(spec)
    table = (tmp_path / "a.csv").read_text(encoding="utf-8")
    assert table == to_csv(spec)
    assert repr(page.shown.rows[0].intensity) in table


def test_without_a_machine_the_page_says_what_to_do(page: RooflinePage) -> None:
    page.hub.change(device="this")
    page.hub.flush()

    assert page.figure() is None
    assert page.empty.isVisible()
    assert "costlab calibrate" in page.empty.accessibleName()


def test_what_changes_only_the_curves_costs_nothing_here(page: RooflinePage) -> None:
    before = page.shown
    page.hub.change(low=256)
    page.hub.flush()

    assert page.shown is before


def test_levels_of_memory_are_switched_one_by_one(
    page: RooflinePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not page.levels.isVisible(), "the datasheet knows one level"
    machine = Machine.from_calibration(calibration())
    monkeypatch.setattr(page.hub.workspace, "machine", lambda _setting: machine)
    page.refresh(frozenset())

    assert page.levels.value == ("L2 cache", "L3 cache", "main memory")
    assert not page.levels.button("main memory").isEnabled()
    page.levels.button("L2 cache").click()
    assert page.shown.figure is not None
    assert [slope.name for slope in page.shown.figure.slopes] == ["L3 cache", "main memory"]
    page.levels.button("L2 cache").click()
    assert len(page.shown.figure.slopes) == 3
