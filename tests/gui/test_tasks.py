"""What follows when a job of the app ends: new machines, removed files, messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from costlab_gui import tasks
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_list import JobList
from costlab_gui.model.calibration import QUICK
from costlab_gui.model.document import Document
from costlab_gui.model.measure import Wish, plan
from costlab_gui.model.messages import ERROR, Message
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace

_CHILD = Path(__file__).parent / "jobs" / "fake_child.py"


@pytest.fixture
def hub(qtbot: QtBot, tmp_path: Path) -> Iterator[Hub]:
    session = Session(
        programs=("lstm",), runs=(), store=str(tmp_path / "runs.sqlite"),
        setting=Setting(sizes={"b": 1, "n": 32, "d": 16}),
    )  # fmt: skip
    hub = Hub(Document(session), Workspace())
    hub.jobs = JobList(hub, program=(sys.executable, str(_CHILD)))
    yield hub
    hub.closing.emit()


def test_a_new_calibration_is_used_at_once(hub: Hub, qtbot: QtBot) -> None:
    renewed: list[str] = []
    hub.data_changed.connect(renewed.append)
    process = tasks.calibrate(hub, "cpu", 1, "float32", QUICK)
    assert "--quick" in process.job.command.words
    qtbot.waitUntil(lambda: process.job.ended)

    assert "machines" in renewed


def test_a_measurement_shows_its_run_and_removes_its_sweep_file(hub: Hub, qtbot: QtBot) -> None:
    wish = Wish("16,32", repeats=3)
    process = tasks.measure(hub, plan(hub.session, hub.workspace, wish), wish)
    sweep = Path(process.job.command.words[1])
    assert 'target = "lstm"' in sweep.read_text(encoding="utf-8")
    assert process.job.command.title == "Measuring 2 points"
    assert hub.session.runs == ("latest",)
    qtbot.waitUntil(lambda: process.job.ended)

    assert not sweep.exists()


def test_a_failure_is_told_with_its_report(hub: Hub, qtbot: QtBot) -> None:
    told: list[Message] = []
    hub.told.connect(told.append)
    process = tasks.import_file(hub, Path("nothing.json"))
    qtbot.waitUntil(lambda: process.job.ended)

    (message,) = told
    assert message.level == ERROR
    assert "it is broken" in message.text
    assert "$ costlab import nothing.json" in message.details


def test_going_on_names_the_run_and_the_store(hub: Hub, qtbot: QtBot) -> None:
    hub.document.replace(replace(hub.session, store="~/runs.sqlite"))
    process = tasks.go_on(hub, "a-run")
    words = process.job.command.words
    qtbot.waitUntil(lambda: process.job.ended)

    assert words[:4] == ("profile", "--resume", "--run", "a-run")
    assert words[-1] == str(Path("~/runs.sqlite").expanduser())
