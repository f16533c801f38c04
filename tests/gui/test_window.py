"""The window as a whole: pages, files, palette, what is dropped, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from costlab_gui.build import build_window
from costlab_gui.model import first_run, recovery
from costlab_gui.model.command_line import command_line
from costlab_gui.model.session import PAGES, Session
from costlab_gui.model.session_file import load, save
from costlab_gui.pages.registry import titles
from costlab_gui.widgets.command_palette import CommandPalette
from costlab_gui.widgets.lost_bar import LostBar
from costlab_gui.window import MainWindow

Opener = Callable[..., MainWindow]


@pytest.fixture
def opened(qtbot: QtBot) -> Opener:
    def make(session: Session | None = None) -> MainWindow:
        window = build_window("dark", session)
        qtbot.addWidget(window, before_close_func=lambda one: one.hub.closing.emit())
        window.resize(1280, 720)
        window.show()
        return window

    return make


def test_a_first_use_works_without_torch_and_sympy(tmp_path: Path) -> None:
    code = (
        "import sys; from costlab_gui.app import main; code = main(['--smoke', sys.argv[1]]);"
        "print([name for name in ('torch', 'sympy', 'scipy') if name in sys.modules]);"
        "sys.exit(code)"
    )
    picture = tmp_path / "smoke.png"

    done = subprocess.run(
        [sys.executable, "-c", code, str(picture)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert picture.stat().st_size > 10_000


def test_every_page_opens_and_names_a_command(opened: Opener, qtbot: QtBot) -> None:
    window = opened()
    assert tuple(titles()) == PAGES
    for key in PAGES:
        window.open_page(key)
        assert window.current_page.isVisible()
        assert window.tabs.tabData(window.tabs.currentIndex()) == key
        assert command_line(window.hub.session, window.hub.workspace).startswith("costlab ")
    window.open_page("curves")


def test_undo_and_redo_say_what_they_do(opened: Opener) -> None:
    window = opened()
    hub = window.hub
    hub.change("set n to 5", sizes={"n": 5})
    hub.flush()
    assert window.commands.undo.text().endswith("set n to 5")
    window.commands.undo.trigger()
    hub.flush()
    assert not window.commands.undo.isEnabled()
    window.commands.redo.trigger()
    assert hub.session.sizes["n"] == 5


def test_the_palette_finds_and_runs_an_action(opened: Opener, qtbot: QtBot) -> None:
    window = opened()
    palette = CommandPalette(window.commands.all, window)
    qtbot.addWidget(palette)
    qtbot.keyClicks(palette.focusWidget() or palette.findChildren(type(palette._field))[0], "roofl")
    qtbot.keyClick(palette._field, Qt.Key.Key_Return)
    assert window.hub.session.page == "roofline"


def test_the_command_of_the_view_is_copied(opened: Opener) -> None:
    window = opened()
    window.commands.copy_command()
    assert QGuiApplication.clipboard().text() == command_line(
        window.hub.session, window.hub.workspace
    )


def test_a_session_is_saved_opened_and_marked(opened: Opener, tmp_path: Path) -> None:
    window = opened()
    path = tmp_path / "mine"
    assert window.files.save_as(path)
    written = tmp_path / "mine.costlab.json"
    assert load(written)[0] == window.hub.session
    window.hub.change("train", mode="train")
    window.hub.flush()
    assert window.isWindowModified()
    assert window.windowTitle().startswith("mine[*]")
    assert window.files.save()
    assert not window.isWindowModified()
    window.files.new()
    assert window.files.path is None
    window.files.open(written)
    assert window.hub.session.setting.mode == "train"
    assert window.settings.recent == [written]


@pytest.mark.parametrize(
    ("answer", "closed"),
    [("Save", True), ("Discard", True), ("Cancel", False)],
)
def test_a_saved_session_with_changes_is_asked_about(
    answer: str, closed: bool, opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened()
    path = tmp_path / "mine.costlab.json"
    window.files.save_as(path)
    window.hub.change("train", mode="train")
    button = getattr(QMessageBox.StandardButton, answer)
    monkeypatch.setattr(QMessageBox, "question", lambda *_arguments: button)

    assert window.close() is closed
    assert (load(path)[0].setting.mode == "train") is (answer == "Save")
    window.hub.document.mark_saved()


def test_an_untitled_session_comes_back_at_the_next_start(opened: Opener) -> None:
    window = opened()
    window.hub.change("set n", sizes={"n": 12_345})
    window.close()

    assert first_run.last_file().exists()
    assert opened().hub.session.sizes["n"] == 12_345


def test_a_bad_file_is_a_message_and_changes_nothing(opened: Opener, tmp_path: Path) -> None:
    window = opened()
    before = window.hub.session
    for name, text in {"a.json": "{", "b.json": "{}", "c.txt": "x"}.items():
        (tmp_path / name).write_text(text)
        window.files.take(str(tmp_path / name))
    window.files.take(str(tmp_path / "none.toml"))

    assert window.hub.session == before
    assert [message.level for message in window.hub.messages.all[-4:]] == ["error"] * 4


def test_a_dropped_session_opens(opened: Opener, tmp_path: Path) -> None:
    window = opened()
    path = tmp_path / "s.costlab.json"
    save(Session(low=77), path)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    window.dropEvent(
        QDropEvent(
            QPointF(QPoint(5, 5)),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )
    assert window.hub.session.low == 77


def test_the_report_holds_the_figures_of_the_view(
    opened: Opener, qtbot: QtBot, tmp_path: Path
) -> None:
    window = opened()
    window.hub.change("two", metrics=("flop", "memory"))
    for suffix in ("html", "md", "csv", "json"):
        window.files.write_report(tmp_path / f"r.{suffix}")
    qtbot.waitUntil(lambda: not window.hub.worker.busy, timeout=20_000)
    assert (tmp_path / "r.html").read_text().count("<svg") >= 2
    points = json.loads((tmp_path / "r.json").read_text())["points"]
    assert {point["architecture"] for point in points} == set(window.hub.session.shown)
    window.files.write_report(tmp_path / "r.docx")
    qtbot.waitUntil(lambda: not window.hub.worker.busy)
    assert window.hub.messages.all[-1].level == "error"


def test_a_lost_session_is_offered_and_comes_back(
    opened: Opener, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, costlab_home: Path
) -> None:
    lost = recovery.Recovered(recovery.folder() / "x.json", Session(low=99), "", 1e9)
    monkeypatch.setattr("costlab_gui.window.lost", lambda: [lost])
    window = opened()
    window.offer_lost()
    bar = window.findChild(LostBar)
    assert bar is not None
    bar.accepted.emit(lost)
    assert window.hub.session.low == 99
    assert window.hub.document.undo_text == "recover"


def test_narrow_windows_fold_the_right_column(opened: Opener, qtbot: QtBot) -> None:
    window = opened()
    assert window.right.isVisible()
    window.resize(700, 600)
    qtbot.waitUntil(lambda: not window.right.isVisible())
    window.resize(1280, 720)
    qtbot.waitUntil(window.right.isVisible)
