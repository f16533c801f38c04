"""The memory page: column, row and sentence are one moment, and it follows the session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.timeline_page import TimelinePage

SESSION = Session(setting=replace(Setting(), device="L4", mode="train"), page="timeline")


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[TimelinePage]:
    hub = Hub(Document(SESSION), Workspace())
    made = TimelinePage(hub)
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    yield made
    hub.closing.emit()


def test_the_peak_stands_first_and_is_explained(page: TimelinePage) -> None:
    peak = page.shown.moments[page.shown.peak]

    assert page.table.model().index(0, 0).data() == peak.where
    assert page.read_out.text().startswith("Peak, 1.55 GiB")
    assert page.plot.accessibleDescription() == page.read_out.text()


def test_a_column_a_row_and_the_sentence_are_one_moment(page: TimelinePage, qtbot: QtBot) -> None:
    frame, spec = page.plot.frame, page.shown.figure
    assert frame is not None and spec is not None
    last = len(spec.moments) - 1

    at = page.plot.to_widget(*frame.at(last + 0.5, spec.total(last) / 2)).toPoint()
    qtbot.mouseClick(page.plot, Qt.MouseButton.LeftButton, pos=at)

    assert page.table.model().index(_row_of(page), 0).data() == spec.moments[last]
    assert spec.moments[last] in page.read_out.text()
    outlined = page.plot.outlined
    assert outlined is not None
    assert outlined.contains(*frame.at(last + 0.5, 0.0))
    qtbot.keyClick(page.plot, Qt.Key.Key_Left)
    assert spec.moments[last - 1] in page.read_out.text()


def _row_of(page: TimelinePage) -> int:
    return int(page.table.selectionModel().selectedRows()[0].row())


def test_it_follows_sizes_and_the_selected_program(page: TimelinePage) -> None:
    before = page.shown.moments[page.shown.peak].bytes
    page.hub.change(sizes={"n": 131_072})
    page.hub.flush()

    assert page.shown.moments[page.shown.peak].bytes > 100 * before
    assert page.warning.text().startswith("Does not fit")
    page.hub.change(selected="lstm")
    page.hub.flush()
    assert "LSTM" in page.shown.figure.title  # type: ignore[union-attr]
    assert page.warning.text() == ""


def test_a_program_without_formulas_says_so(page: TimelinePage) -> None:
    page.hub.change(mode="decode", selected="rnn_cell_loop")
    page.hub.flush()

    assert page.empty.isVisible()
    assert "no formulas" in page.empty.accessibleName()
    assert page.figure() is None


def test_the_numbers_are_exported(page: TimelinePage, qtbot: QtBot, tmp_path: Path) -> None:
    page.hub.asked.emit("export plot", tmp_path / "memory.csv")
    qtbot.waitUntil(lambda: not page.hub.worker.busy)

    rows = (tmp_path / "memory.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + len(page.shown.moments)
    assert rows[0].startswith("phase,moment,parameters [B]")
    assert float(rows[1 + page.shown.peak].rsplit(",", 1)[1]) == (
        page.shown.moments[page.shown.peak].bytes
    )
