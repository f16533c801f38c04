"""The curves page: what it draws, reads off and changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.explore import read_out
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.curves_page import CurvesPage
from costlab_gui.widgets.origin_dialog import OriginDialog

PROGRAMS = ("full_attention", "linear_attention", "lstm")
POINT = {
    "architecture": "full_attention", "mode": "forward", "dtype": "float32",
    "sizes": {"b": 1, "n": 4096, "d": 512, "h": 8}, "time_s": 0.004, "peak_bytes": 2**30,
    "time_interval_s": [0.0039, 0.0042],
}  # fmt: skip


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


@pytest.fixture
def page(qtbot: QtBot, workspace: Workspace) -> CurvesPage:
    session = Session(
        programs=PROGRAMS, setting=Setting(device="A100-80G-SXM"), metrics=("time", "memory")
    )
    hub = Hub(Document(session), workspace)
    made = CurvesPage(hub)
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    qtbot.waitExposed(made)
    QApplication.processEvents()
    read(made, qtbot)
    return made


def read(page: CurvesPage, qtbot: QtBot) -> None:
    """Wait for the table: programs are predicted one after the other."""
    qtbot.waitUntil(lambda: page.is_read)


def names(page: CurvesPage, metric: str) -> list[str]:
    return [series.name for series in page.views[metric].spec.series]


def test_panels_follow_the_session(page: CurvesPage) -> None:
    assert [len(names(page, metric)) for metric in ("time", "memory")] == [3, 3]
    before = page.views["time"].y_range
    page.hub.change("set d", sizes={"d": 2048})
    page.hub.flush()
    assert page.views["time"].y_range[1] > 2 * before[1]
    page.hub.change("", metrics=("flop",))
    page.hub.flush()
    assert page.views["flop"].isVisible() and not page.views["time"].isVisible()
    page.hub.change("", metrics=("energy",))
    page.hub.flush()
    assert "energy" in page.views["energy"].summary()


def test_moving_along_the_axis_draws_nothing_anew(page: CurvesPage, qtbot: QtBot) -> None:
    spec = page.views["time"].spec
    page.hub.change("set n", sizes={"n": 8192})
    page.hub.flush()
    assert page.views["time"].spec is spec
    assert page.views["time"].crosshair == page.views["memory"].crosshair == 8192
    read(page, qtbot)
    assert "8 192" in page.read_out.heading.text()


def test_the_table_shows_what_explore_says_to_the_last_digit(
    page: CurvesPage, qtbot: QtBot
) -> None:
    page.move_crosshair(1000.0)
    read(page, qtbot)
    assert page.at == 1024, "linear attention goes in chunks"
    assert page.hub.session.sizes["n"] == 4096, "the crosshair reads off, it changes nothing"
    found, _problems = read_out(page.hub.session, page.hub.workspace, 1024)
    lines = [line.split("\t") for line in page.read_out.model.shown.to_tsv().splitlines()]
    head, rows = lines[0], lines[1:]
    assert [float(row[head.index("predicted (s)")]) for row in rows] == [
        found[target].time_s for target in PROGRAMS
    ]
    assert [int(row[head.index("peak memory (B)")]) for row in rows] == [
        found[target].peak_bytes for target in PROGRAMS
    ]
    page.read_out.copy()
    assert QGuiApplication.clipboard().text() == page.read_out.model.shown.to_tsv()


def test_crosshair_by_key_and_choosing_its_size(page: CurvesPage, qtbot: QtBot) -> None:
    view = page.views["memory"]
    qtbot.keyClick(view, Qt.Key.Key_PageUp)
    assert page.views["time"].crosshair == 8192
    qtbot.waitUntil(lambda: "8 192" in page.read_out.heading.text())
    assert page.hub.session.sizes["n"] == 4096
    qtbot.keyClick(view, Qt.Key.Key_Return)
    page.hub.flush()
    assert page.hub.session.sizes["n"] == 8192
    assert page.hub.document.undo_text == "set n to 8 192"


def test_selecting_by_row_and_by_curve(page: CurvesPage, qtbot: QtBot) -> None:
    table = page.read_out.view
    row = page.read_out.model.row_of("lstm")
    assert row is not None
    place = table.visualRect(page.read_out.model.index(row, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    page.hub.flush()
    assert page.hub.session.selected == "lstm"
    read(page, qtbot)
    assert "LSTM" in page.read_out.model.shown.doubling["program"]
    assert page.read_out.model.shown.doubling["flop"] == "×2"
    qtbot.keyClick(page.views["time"], Qt.Key.Key_Up)
    page.hub.flush()
    assert page.hub.session.selected == "full_attention"
    read(page, qtbot)
    assert table.currentIndex().row() == 0


def test_legend_hides_and_isolates(page: CurvesPage, qtbot: QtBot) -> None:
    first, second, _third = page.legend._buttons
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    page.hub.flush()
    assert page.hub.session.hidden == ("full_attention",)
    assert len(names(page, "time")) == 2
    assert page.hub.document.undo_text == "hide " + page.hub.workspace.title("full_attention")
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    page.hub.flush()
    assert page.hub.session.shown == PROGRAMS
    qtbot.mouseClick(second, Qt.MouseButton.LeftButton)
    qtbot.mouseDClick(second, Qt.MouseButton.LeftButton)
    page.hub.flush()
    assert list(page.hub.session.shown) == ["linear_attention"]
    page.hub.document.undo()
    page.hub.flush()
    assert page.hub.session.shown == PROGRAMS


def test_linked_zoom_and_fit(page: CurvesPage) -> None:
    time, memory = page.views["time"], page.views["memory"]
    time.zoom(1024.0, 4096.0)
    assert memory.x_range == pytest.approx((1024.0, 4096.0))
    exported = page.figure()
    assert exported is not None and exported.x.window == pytest.approx((1024.0, 4096.0))
    page.hub.asked.emit("fit", None)
    assert not time.is_zoomed and not memory.is_zoomed
    assert page.figure() is time.spec
    page.hub.change("", linked=False)
    page.hub.flush()
    time.zoom(1024.0, 4096.0)
    assert [view.is_zoomed for view in (time, memory)] == [True, False]


def test_what_cannot_be_drawn_is_named_with_its_reason(page: CurvesPage) -> None:
    page.hub.change("", over="h", low=1, high=64)
    page.hub.flush()
    assert page.notes.isVisible()
    assert "LSTM" in page.notes.text() and "does not depend on h" in page.notes.text()


def test_measured_points(page: CurvesPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(page), "measured", property(lambda self: (POINT,)))
    page.hub.data_changed.emit("runs")
    assert "measured" in names(page, "time")[1] and "measured" in names(page, "memory")[1]
    read(page, qtbot)
    row = page.read_out.model.shown.rows[0]
    assert row.texts["measured"] == "4 ms"
    predicted = read_out(page.hub.session, page.hub.workspace)[0]["full_attention"].time_s
    assert row.values["error"] == pytest.approx(predicted / 0.004 - 1)


def test_decode_has_a_column_of_state(page: CurvesPage, qtbot: QtBot) -> None:
    page.hub.change("", setting=replace(page.hub.session.setting, mode="decode"))
    page.hub.flush()
    read(page, qtbot)
    assert page.read_out.model.shown.columns["state"] == "state"
    assert page.read_out.model.shown.rows[0].texts["state"] != "–"


def test_every_number_of_the_table_opens_its_origin(page: CurvesPage, qtbot: QtBot) -> None:
    page.move_crosshair(8192)
    read(page, qtbot)
    columns = list(page.read_out.model.shown.columns)
    for column, said in (("predicted", "Time"), ("peak", "memory"), ("flop", "FLOP")):
        page.read_out.view.setCurrentIndex(page.read_out.model.index(1, columns.index(column)))
        qtbot.keyClick(page.read_out.view, Qt.Key.Key_O)
        dialog = page.findChildren(OriginDialog)[-1]
        assert said.lower() in dialog.origin.title.lower()
        assert "8 192" in dialog.origin.text() or "8192" in dialog.origin.text()
        dialog.close()
