"""Jobs with a child that prints, obeys, ignores and dies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from costlab_gui.jobs.job_list import JobList
from costlab_gui.model.jobs import CANCELLED, DONE, FAILED, RUNNING, WAITING, Command

_PROGRAM = (sys.executable, str(Path(__file__).with_name("fake_child.py")))


@pytest.fixture
def jobs(qtbot: QtBot) -> Iterator[JobList]:
    """A list whose cancels are short; nothing of it may be left."""
    found = JobList(program=_PROGRAM, grace_ms=200)
    yield found
    found.end_all()
    assert [one for one in psutil.Process().children() if "fake_child" in str(one.cmdline())] == []


def _command(what: str, alone: bool = False) -> Command:
    return Command(what, (what,), alone=alone, unit="points")


def test_lines_come_as_they_are_printed(jobs: JobList, qtbot: QtBot) -> None:
    heard: list[object] = []
    process = jobs.start(_command("good"))
    process.heard.connect(heard.append)
    with qtbot.waitSignal(process.ended):
        pass

    assert process.job.state == DONE
    assert heard == [{"kind": "point", "number": 1}, {"kind": "point", "number": 2}]
    assert process.job.progress.done == 1
    assert jobs.active == ()


def test_cancel_lets_the_child_end_in_order(jobs: JobList, qtbot: QtBot) -> None:
    process = jobs.start(_command("obeys"))
    qtbot.waitUntil(lambda: len(process.job.lines) == 1)
    with qtbot.waitSignal(process.ended):
        process.cancel()

    assert process.job.state == CANCELLED
    assert process.job.code == 130
    assert len(process.job.lines) == 2


def test_a_child_that_ignores_the_cancel_is_killed_with_its_tree(
    jobs: JobList, qtbot: QtBot
) -> None:
    process = jobs.start(_command("stubborn"))
    qtbot.waitUntil(lambda: len(process.job.lines) == 2)
    child = psutil.Process(int(process.job.lines[1]["pid"]))
    with qtbot.waitSignal(process.ended):
        process.cancel()

    assert process.job.state == CANCELLED
    qtbot.waitUntil(lambda: _is_gone(child))


def test_a_child_that_is_killed_from_outside_has_failed(jobs: JobList, qtbot: QtBot) -> None:
    process = jobs.start(_command("obeys"))
    qtbot.waitUntil(lambda: len(process.job.lines) == 1)
    with qtbot.waitSignal(process.ended):
        os.kill(process.pid, 9)

    assert process.job.state == FAILED
    assert "signal 9" in process.job.reason


def test_a_program_that_does_not_exist_fails(qtbot: QtBot) -> None:
    jobs = JobList(program=("/nowhere/costlab",))
    process = jobs.start(_command("good"))
    qtbot.waitUntil(lambda: process.job.ended)

    assert process.job.state == FAILED
    assert "could not be started" in process.job.reason


def test_one_measures_at_a_time_and_others_run_beside(jobs: JobList, qtbot: QtBot) -> None:
    first = jobs.start(_command("obeys", alone=True))
    second = jobs.start(_command("good", alone=True))
    beside = jobs.start(_command("broken"))
    assert (first.job.state, second.job.state) == (RUNNING, WAITING)
    qtbot.waitUntil(lambda: beside.job.ended)
    assert beside.job.reason == "it is broken"
    assert second.job.state == WAITING

    first.cancel()
    qtbot.waitUntil(lambda: second.job.ended)
    assert second.job.state == DONE


def test_at_the_end_of_the_app_every_tree_is_gone(jobs: JobList, qtbot: QtBot) -> None:
    running = [jobs.start(_command(what)) for what in ("obeys", "good")]
    waiting = jobs.start(_command("good", alone=True))
    jobs.start(_command("obeys", alone=True))
    pids = [one.pid for one in running]
    jobs.end_all()

    assert jobs.active == ()
    assert waiting.job.ended
    assert not any(psutil.pid_exists(pid) for pid in pids)


def _is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


_APP = """
import subprocess
import sys
from PySide6.QtCore import QCoreApplication
from costlab_gui.jobs.job_list import JobList
from costlab_gui.model.jobs import Command
app = QCoreApplication([])
jobs = JobList(program=tuple(sys.argv[1:]))
process = jobs.start(Command("obeys", ("obeys",)))
process.heard.connect(lambda _line: print(process.pid, flush=True))
app.exec()
"""


def test_a_child_ends_when_the_app_is_killed() -> None:
    app = subprocess.Popen(
        [sys.executable, "-c", _APP, *_PROGRAM], stdout=subprocess.PIPE, text=True
    )
    assert app.stdout is not None
    child = psutil.Process(int(app.stdout.readline()))
    app.kill()
    app.communicate()
    _gone, alive = psutil.wait_procs([child], timeout=20)

    assert [one for one in alive if not _is_gone(one)] == []
