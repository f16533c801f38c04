"""The app is killed in the middle of a measurement: nothing measured is lost, nobody is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
from pytestqt.qtbot import QtBot

from costlab.store import Store
from costlab.store.home import default_store
from costlab_gui.build import build_window
from costlab_gui.model import recovery
from costlab_gui.widgets.lost_bar import LostBar

_APP = """
import sys
from PySide6.QtWidgets import QApplication
from costlab_gui.build import build_window
from costlab_gui.model.session import Session, Setting

app = QApplication(["costlab"])
session = Session(
    programs=("lstm",), selected="lstm", page="measure", low=16, high=64,
    setting=Setting(sizes={"b": 1, "n": 64, "d": 16}),
)
window = build_window("dark", session)
window.show()
page = window.page("measure")
page.form.values.setText("16:64:x2")
page.form.values.textEdited.emit("16:64:x2")
page.form.repeats.setValue(3)
window.files.keep_copy()
process = page.start()
process.heard.connect(
    lambda line: print("point", flush=True) if line.get("kind") == "point" else None
)
sys.exit(app.exec())
"""


def test_a_killed_app_leaves_points_and_session_and_no_process(
    tmp_path: Path, qtbot: QtBot
) -> None:
    script = tmp_path / "app.py"
    script.write_text(_APP)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    app = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=variables
    )
    assert app.stdout is not None
    assert app.stdout.readline() == "point\n"
    family = psutil.Process(app.pid).children(recursive=True)
    assert family

    app.send_signal(signal.SIGKILL)
    app.wait()
    app.stdout.close()

    _gone, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []
    with Store(default_store(), read_only=True) as store:
        (run,) = store.runs()
        assert 1 <= run.points < 3
    window = build_window("dark")
    qtbot.addWidget(window, before_close_func=lambda one: one.hub.closing.emit())
    window.offer_lost()
    bar = window.findChild(LostBar)
    assert bar is not None
    (lost,) = recovery.lost()
    window.files.recover(lost)
    assert window.hub.session.programs == ("lstm",)
    assert len(window.hub.runs.points()) == run.points
    assert recovery.lost() == []
