"""Opening one's own modules with real child processes: agreed to, derived, cancelled, changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.explore import panel, point
from costlab_gui.model.opened import fingerprint
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import NotDerived, Workspace
from costlab_gui.widgets.open_own_dialog import OpenOwnDialog
from costlab_gui.widgets.own_modules import OwnModules

LONG_MS = 120_000
FILE = """
import os, sys, time
from pathlib import Path
import torch
from torch import nn

print("noise on stdout")
print("noise on stderr", file=sys.stderr)

def build(*, b=1, n=64, d=32, q=16):
    print("more noise")
    return nn.Linear(d, q, bias=False), (torch.randn(b, n, d),)

def raises(*, n=8):
    raise RuntimeError("no such layer")
    return None, None

def hangs(*, n=8):
    Path(__file__).with_name("pid").write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)
    return None, None
"""


class Opened:
    """A hub with its modules, and the bars that were shown."""

    def __init__(self, qtbot: QtBot, session: Session | None = None) -> None:
        setting = Setting(device="A100-40G-SXM", sizes={"b": 1, "n": 4096, "d": 512})
        self.hub = Hub(Document(session or Session(setting=setting)), Workspace())
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.shown: list[QWidget] = []
        self.own = OwnModules(self.hub, self.shown.append, self.window)

    def dialog(self, qtbot: QtBot, path: Path, factory: str = "") -> OpenOwnDialog:
        found = self.own.open(path)
        for row in range(found.factories.count()):
            if found.factories.item(row).text().startswith(factory):
                found.factories.setCurrentRow(row)
        return found


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


@pytest.fixture
def app(qtbot: QtBot) -> Iterator[Opened]:
    opened = Opened(qtbot)
    yield opened
    opened.hub.jobs.end_all()
    for bar in opened.shown:
        bar.deleteLater()


def test_a_factory_is_agreed_to_derived_and_compared(
    app: Opened, module: Path, qtbot: QtBot
) -> None:
    dialog = app.dialog(qtbot, module, "build")
    assert dialog.agree.isVisible() and module.name in dialog.agree.text()
    assert fingerprint(module) == dialog.digits.text().replace("SHA-256", "").replace(
        "\n", ""
    ).replace(" ", "")
    assert not dialog.derive.isEnabled()
    dialog.agree.setChecked(True)
    with qtbot.waitSignal(dialog.accepted, timeout=LONG_MS):
        qtbot.mouseClick(dialog.derive, Qt.MouseButton.LeftButton)
        assert dialog.progress.isVisible()

    target = f"{module}:build"
    session = app.hub.session
    assert session.programs[-1] == session.selected == target
    assert session.opened == {target: fingerprint(module)}
    derivation = app.hub.workspace.derivation(target, session.setting)
    assert set(derivation.sizes) == {"b", "n", "d", "q"}
    assert str(derivation.classes[0].cost["flop"].expr) == "2*b*d*n*q"
    found = point(session.setting, app.hub.workspace, target, {"q": 3})
    assert found.flop == 2 * 4096 * 512 * 3
    shown = panel(session, app.hub.workspace, "flop")
    assert app.hub.workspace.title(target) in {series.name for series in shown.figure.series}
    assert app.shown == []

    # Another setting is derived by itself, since this very file was agreed to.
    app.hub.change(mode="train")
    app.hub.flush()
    assert len(app.hub.jobs.active) == 1
    app.hub.jobs.active[0].cancel()
    qtbot.waitUntil(lambda: not app.hub.jobs.active, timeout=LONG_MS)
    app.hub.change(mode="forward")

    # A file that has changed is noticed, and run only when that is agreed to.
    module.write_text(FILE.replace("2", "3"))
    app.own.check_files()
    app.own.check_files()
    (bar,) = app.own.bars
    assert app.shown == [bar]
    assert bar.sha256 == fingerprint(module)
    bar.skip.click()
    app.own.check_files()
    assert list(app.own.bars) == [] and len(app.shown) == 1
    assert app.hub.workspace.derivation(target, app.hub.session.setting) == derivation


def test_a_factory_that_raises_is_one_line_with_details(
    app: Opened, module: Path, qtbot: QtBot
) -> None:
    programs = app.hub.session.programs
    dialog = app.dialog(qtbot, module, "raises")
    dialog.agree.setChecked(True)
    dialog.derive.click()
    qtbot.waitUntil(lambda: "no such layer" in dialog.status.text(), timeout=LONG_MS)

    line = dialog.status.text()
    assert "\n" not in line and f"{module}:" in line
    assert dialog.more.isVisible()
    dialog.more.click()
    assert "no such layer" in dialog.details.toPlainText()
    assert app.hub.session.programs == programs
    assert dialog.derive.isEnabled()
    dialog.reject()


def test_a_factory_that_hangs_is_cancelled_and_gone(
    app: Opened, module: Path, qtbot: QtBot
) -> None:
    dialog = app.dialog(qtbot, module, "hangs")
    dialog.agree.setChecked(True)
    dialog.derive.click()
    file = module.with_name("pid")
    qtbot.waitUntil(lambda: file.exists() and file.read_text() != "", timeout=LONG_MS)
    assert dialog.cancel.text() == "Cancel derivation"
    dialog.cancel.click()
    qtbot.waitUntil(lambda: dialog.status.text() == "cancelled", timeout=LONG_MS)

    qtbot.waitUntil(lambda: not psutil.pid_exists(int(file.read_text())), timeout=5000)
    assert app.hub.session.opened == {}
    dialog.reject()


def test_a_config_keeps_its_widths_and_frees_batch_and_length(
    app: Opened, tmp_path: Path, qtbot: QtBot
) -> None:
    committed = resources.files("costlab_profiles") / "models" / "gpt2.json"
    values = json.loads(committed.read_text())
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps({**values, "n_layer": 1, "n_embd": 64, "n_head": 4, "vocab_size": 99})
    )
    dialog = app.dialog(qtbot, path)
    assert not dialog.agree.isVisible() and "width 64" in dialog.about.text()
    with qtbot.waitSignal(dialog.accepted, timeout=LONG_MS):
        dialog.derive.click()

    session = app.hub.session
    derivation = app.hub.workspace.derivation(f"hf:{path}", session.setting)
    assert set(derivation.sizes) == {"b", "n"}
    at = [
        point(session.setting, app.hub.workspace, f"hf:{path}", {"n": n}).flop for n in (256, 512)
    ]
    assert at[0] is not None and at[1] is not None and 2 < at[1] / at[0] < 4


def test_a_session_from_elsewhere_runs_nothing_unasked(module: Path, qtbot: QtBot) -> None:
    target = f"{module}:build"
    session = Session(programs=("lstm", target), opened={target: fingerprint(module)})
    app = Opened(qtbot, session)

    (bar,) = app.own.bars
    assert fingerprint(module) in bar.run.accessibleDescription()
    assert app.hub.jobs.all == ()
    with pytest.raises(NotDerived):
        app.hub.workspace.derivation(target, session.setting)
    assert target in panel(session, app.hub.workspace, "flop").problems
    app.hub.change(programs=("lstm",))
    app.hub.flush()
    assert list(app.own.bars) == [], "nobody asks about what is no longer shown"
    app.hub.change(programs=("lstm", target))
    app.hub.flush()
    (bar,) = app.own.bars
    bar.run.click()
    assert len(app.hub.jobs.active) == 1
    app.hub.jobs.end_all()
    qtbot.waitUntil(lambda: not app.hub.jobs.active)


def test_a_file_that_changes_after_it_was_agreed_to_is_not_run(
    app: Opened, module: Path, qtbot: QtBot
) -> None:
    dialog = app.dialog(qtbot, module, "hangs")
    dialog.agree.setChecked(True)
    module.write_text(FILE + "\n")
    dialog.derive.click()
    qtbot.waitUntil(lambda: "has changed" in dialog.status.text(), timeout=LONG_MS)

    assert not module.with_name("pid").exists()
    dialog.reject()
