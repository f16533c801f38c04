"""The measure page with real child processes: a killed worker, cancel, and going on."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab.store import Store
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.model.document import Document
from costlab_gui.model.jobs import CANCELLED, DONE
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.measure_page import MeasurePage

_LONG_MS = 120_000
# A worker of this age has begun to measure, on a busy machine one of a later age.
_BEGUN_S = (0.2, 0.4, 0.6, 0.8)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COSTLAB_HOME", str(tmp_path / "home"))
    return tmp_path / "runs.sqlite"


@pytest.fixture
def page(qtbot: QtBot, store: Path) -> Iterator[MeasurePage]:
    """One small program; no child may be left at the end."""
    session = Session(
        programs=("full_attention",), store=str(store), low=16, high=64,
        setting=Setting(sizes={"b": 1, "n": 32, "d": 16, "h": 2}),
    )  # fmt: skip
    page = MeasurePage(Hub(Document(session), Workspace()))
    page.resize(740, 700)
    qtbot.addWidget(page)
    page.show()
    page.form.repeats.setValue(3)
    yield page
    page.hub.closing.emit()
    assert psutil.Process().children(recursive=True) == []


def _type(page: MeasurePage, text: str, qtbot: QtBot) -> None:
    page.form.values.clear()
    qtbot.keyClicks(page.form.values, text)


def _start(page: MeasurePage) -> JobProcess:
    process = page.start()
    assert process is not None
    return process


def _until(qtbot: QtBot, holds: Callable[[], bool]) -> None:
    qtbot.waitUntil(holds, timeout=_LONG_MS)


def test_a_killed_worker_and_a_cancel_cost_nothing_but_their_point(
    page: MeasurePage, qtbot: QtBot, store: Path
) -> None:
    _type(page, "16,24", qtbot)
    process = _start(page)
    # The command, its server, and the worker that the server forks for each pass.
    _until(qtbot, lambda: "turn" in process.job.progress.facts)
    _kill_a_worker(page, process, qtbot)
    _until(qtbot, lambda: any(row.status == "now" for row in page.runs.table.points.rows))
    process.cancel()
    _until(qtbot, lambda: process.job.ended)
    assert process.job.state == CANCELLED
    assert "Resume" in process.job.status()
    rows = page.runs.table.points.rows
    assert sorted(row.status for row in rows) == ["crash", "waiting"]
    assert all(row.notes for row in rows if row.failed)
    assert page.runs.resume.isEnabled()

    page.runs.retry.click()
    (again,) = page.hub.jobs.active
    _until(qtbot, lambda: again.job.ended)
    assert again.job.state == DONE
    rows = page.runs.table.points.rows
    assert [row.sizes["n"] for row in rows] == [16, 24]
    assert all(row.time_s is not None and row.peak_bytes is not None for row in rows)
    assert len(page.hub.runs.points()) == 2
    assert not page.runs.resume.isEnabled()
    assert not page.runs.retry.isEnabled()
    with Store(store, read_only=True) as kept:
        assert [run.points for run in kept.runs()] == [2]


def _kill_a_worker(page: MeasurePage, process: JobProcess, qtbot: QtBot) -> None:
    """Kill workers until one was in the middle of its pass, so that its point has failed."""
    ages_s = chain(_BEGUN_S, repeat(_BEGUN_S[-1]))
    while not any(row.failed for row in page.runs.table.points.rows):
        for worker in _await_workers(process, next(ages_s), qtbot):
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, 9)
        with contextlib.suppress(qtbot.TimeoutError):
            qtbot.waitUntil(
                lambda: any(row.failed for row in page.runs.table.points.rows), timeout=1000
            )


def _await_workers(process: JobProcess, age_s: float, qtbot: QtBot) -> list[psutil.Process]:
    _until(qtbot, lambda: bool(_workers(process, age_s)) or process.job.ended)
    assert not process.job.ended, "all points were measured before a worker could be killed"
    return _workers(process, age_s)


def _workers(process: JobProcess, age_s: float) -> list[psutil.Process]:
    """Grandchildren of the command that have begun to measure: one just forked is replaced."""
    try:
        command = psutil.Process(process.pid)
        workers = [one for child in command.children() for one in child.children()]
        return [one for one in workers if time.time() - one.create_time() > age_s]
    except psutil.Error:
        return []


def test_sizes_are_typed_or_picked_and_errors_are_said_beneath(
    page: MeasurePage, qtbot: QtBot
) -> None:
    form = page.form
    _type(page, "16:64:x2", qtbot)
    qtbot.waitUntil(lambda: form.summary.text().startswith("3 points"))
    assert list(form.picker.values) == [16, 32, 64]
    assert "about" in form.summary.text()

    qtbot.keyClick(form.picker, Qt.Key.Key_Right)
    form.picker.setFocus()
    qtbot.keyClick(form.picker, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: form.summary.text().startswith("2 points"))
    assert len(form.picker.values) == 2

    _type(page, "16:", qtbot)
    qtbot.waitUntil(form.error.isVisible)
    assert not form.start.isEnabled()
    assert page.start() is None


def test_another_device_is_explained_and_this_machine_offered(
    page: MeasurePage, qtbot: QtBot
) -> None:
    page.hub.change(device="L4")
    qtbot.waitUntil(page.notice.isVisible)
    assert "L4" in page.notice.text()
    qtbot.waitUntil(lambda: not page.form.start.isEnabled())

    page.choose_this.click()
    qtbot.waitUntil(lambda: not page.notice.isVisible())
    qtbot.waitUntil(page.form.start.isEnabled)


def test_runs_are_shown_and_hidden_on_the_plot(
    page: MeasurePage, qtbot: QtBot, store: Path
) -> None:
    point = {
        "target": "lstm", "sizes": {"n": 8}, "mode": "forward", "dtype": "float32",
        "device": "cpu", "threads": 1, "options": {},
    }  # fmt: skip
    with Store(store) as kept:
        for name in ("old", "new"):
            kept.start_run(name, {"points": [point]}, {"id": "elsewhere"})
    page.hub.runs.look()
    qtbot.waitUntil(lambda: page.runs.list.topLevelItemCount() == 2)
    new, old = (page.runs.list.topLevelItem(row) for row in range(2))
    assert new is not None and old is not None
    assert new.checkState(0) == Qt.CheckState.Checked
    old.setCheckState(0, Qt.CheckState.Checked)
    new.setCheckState(0, Qt.CheckState.Unchecked)

    assert page.hub.session.runs == ("old",)
    page.runs.list.setCurrentItem(old)
    assert page.runs.line is not None and page.runs.line.run == "old"
    assert [row.status for row in page.runs.table.points.rows] == ["waiting"]


def test_an_exported_run_is_imported_again(
    page: MeasurePage, qtbot: QtBot, store: Path, tmp_path: Path
) -> None:
    with Store(store) as kept:
        kept.start_run("mine", {"points": []}, {"id": "e"})
    page.hub.runs.look()
    told: list[str] = []
    page.hub.told.connect(lambda message: told.append(message.text))
    page.runs.export(tmp_path / "run.json")
    _until(qtbot, lambda: not page.hub.jobs.active)
    assert (tmp_path / "run.json").exists()

    page.hub.change(store=str(tmp_path / "other.sqlite"))
    qtbot.waitUntil(lambda: page.hub.runs.lines == ())
    page.runs.import_file(tmp_path / "run.json")
    _until(qtbot, lambda: not page.hub.jobs.active)
    qtbot.waitUntil(lambda: [line.run for line in page.hub.runs.lines] == ["mine"])
    assert any("mine" in text for text in told)
