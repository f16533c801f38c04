"""Choosing by mouse and by keyboard, and what a screen reader is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QAccessible, QColor
from pytestqt.qtbot import QtBot

from costlab.formulas import store
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.architecture_list import ArchitectureList

LEFT = Qt.MouseButton.LeftButton
OWN = "/somewhere/own.py:build"
Make = Callable[..., ArchitectureList]


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


@pytest.fixture
def make(qtbot: QtBot, workspace: Workspace) -> Make:
    def made(session: Session | None = None) -> ArchitectureList:
        shown = ArchitectureList(Hub(Document(session or Session()), workspace))
        shown.hub.setParent(shown)
        qtbot.addWidget(shown)
        shown.resize(320, 800)
        shown.show()
        shown.activateWindow()
        qtbot.waitUntil(shown.isActiveWindow)
        return shown

    return made


def press(qtbot: QtBot, shown: ArchitectureList, target: str, on_box: bool) -> None:
    room = shown.view.visualRect(shown.rows.place(target))
    at = QPoint(room.left() + 12 if on_box else room.center().x(), room.center().y())
    qtbot.mouseClick(shown.view.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, at)
    shown.hub.flush()


def test_the_box_compares_and_the_name_explains(qtbot: QtBot, make: Make) -> None:
    shown = make()
    hub = shown.hub
    press(qtbot, shown, "gru", on_box=True)
    assert hub.session.programs[-1] == "gru" and hub.session.selected == "gru"
    press(qtbot, shown, "lstm", on_box=False)
    assert hub.session.selected == "lstm" and "lstm" in hub.session.programs
    press(qtbot, shown, "lstm", on_box=True)
    assert "lstm" not in hub.session.programs
    hub.document.undo()
    hub.flush()
    assert "lstm" in hub.session.programs
    assert shown.rows.place("lstm").data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked


def test_two_quick_clicks_on_a_box_toggle_twice(qtbot: QtBot, make: Make) -> None:
    shown = make()
    room = shown.view.visualRect(shown.rows.place("gru"))
    at = QPoint(room.left() + 12, room.center().y())
    viewport = shown.view.viewport()
    qtbot.mouseClick(viewport, LEFT, Qt.KeyboardModifier.NoModifier, at)
    qtbot.mouseDClick(viewport, LEFT, Qt.KeyboardModifier.NoModifier, at)
    assert "gru" not in shown.hub.session.programs


def test_everything_goes_by_keyboard(qtbot: QtBot, make: Make) -> None:
    shown = make()
    shown.search.setFocus()
    qtbot.keyClicks(shown.search, "flash")
    qtbot.keyClick(shown.search, Qt.Key.Key_Return)
    assert shown.hub.session.programs[-1] == "flash_attention"
    qtbot.keyClick(shown.search, Qt.Key.Key_Escape)
    assert len(shown.rows.listed) > len(store.names())

    qtbot.keyClick(shown.search, Qt.Key.Key_Down)
    assert shown.view.hasFocus()
    shown.view.setCurrentIndex(shown.rows.place("gru"))
    qtbot.keyClick(shown.view, Qt.Key.Key_Space)
    assert "gru" in shown.hub.session.programs
    shown.view.setCurrentIndex(shown.rows.place("rnn"))
    qtbot.keyClick(shown.view, Qt.Key.Key_Return)
    assert shown.hub.session.selected == "rnn"


def test_arrows_pass_over_the_groups(qtbot: QtBot, make: Make) -> None:
    shown = make()
    shown.view.setFocus()
    shown.view.setCurrentIndex(shown.rows.first())
    passed = [shown.view.currentIndex().row()]
    for _press in store.names():
        qtbot.keyClick(shown.view, Qt.Key.Key_Down)
        passed.append(shown.view.currentIndex().row())
    assert len(set(passed)) == len(store.names())


def test_delete_closes_an_opened_module_and_nothing_else(qtbot: QtBot, make: Make) -> None:
    shown = make(Session(programs=("lstm", OWN), opened={OWN: "0" * 64}))
    for target in ("lstm", OWN):
        shown.view.setCurrentIndex(shown.rows.place(target))
        qtbot.keyClick(shown.view, Qt.Key.Key_Delete)
        shown.hub.flush()
    assert shown.hub.session.programs == ("lstm",)
    assert shown.rows.place(OWN) == QModelIndex()


def test_a_line_is_spoken_whole(make: Make) -> None:
    shown = make()
    spoken = QAccessible.queryAccessibleInterface(shown.view)
    place = shown.rows.place("lstm").row()
    text = spoken.child(place).text(QAccessible.Text.Name)
    assert text == "LSTM, with forget gate, order n d², compared"


def test_the_sample_has_the_colour_of_the_curve(make: Make) -> None:
    shown = make()
    for target in shown.hub.session.programs:
        shown.view.scrollTo(shown.rows.place(target))
        image = shown.view.grab().toImage()
        room = shown.view.visualRect(shown.rows.place(target))
        wanted = QColor(current().curve(shown.hub.session.colour(target)))
        row = {
            image.pixelColor(x, y).rgb()
            for x in range(room.left(), room.center().x())
            for y in range(room.top(), room.bottom())
        }
        assert wanted.rgb() in row
