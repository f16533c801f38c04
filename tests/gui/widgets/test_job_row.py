"""A job's row and the list of jobs, with a child that obeys and one that fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.jobs.job_list import JobList
from costlab_gui.model.document import Document
from costlab_gui.model.jobs import Command
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.job_panel import JobPanel
from costlab_gui.widgets.job_status import JobStatus

_CHILD = Path(__file__).parents[1] / "jobs" / "fake_child.py"


@pytest.fixture
def hub(qtbot: QtBot) -> Iterator[Hub]:
    hub = Hub(Document(), Workspace())
    hub.jobs = JobList(hub, program=(sys.executable, str(_CHILD)))
    yield hub
    hub.closing.emit()


def test_a_row_says_how_far_it_is_and_cancels(hub: Hub, qtbot: QtBot) -> None:
    panel = JobPanel(hub)
    qtbot.addWidget(panel)
    panel.show()
    process = hub.jobs.start(Command("Measuring", ("obeys",), unit="points", kept="All is kept"))
    (row,) = panel.rows
    qtbot.waitUntil(lambda: "0 of 2 points" in row.accessibleName())
    assert row.cancel.isVisible()

    row.cancel.click()
    qtbot.waitUntil(lambda: process.job.ended)
    assert not row.cancel.isVisible()
    assert row.accessibleName() == "Measuring: cancelled. All is kept"


def test_a_failed_row_gives_its_report(hub: Hub, qtbot: QtBot) -> None:
    panel = JobPanel(hub)
    qtbot.addWidget(panel)
    panel.show()
    process = hub.jobs.start(Command("Measuring", ("broken",)))
    qtbot.waitUntil(lambda: process.job.ended)
    (row,) = panel.rows

    assert any("it is broken" in label.text() for label in row.findChildren(QLabel))
    row.copy.click()
    assert "costlab: it is broken" in QGuiApplication.clipboard().text()


def test_only_the_latest_jobs_are_listed(hub: Hub, qtbot: QtBot) -> None:
    panel = JobPanel(hub)
    qtbot.addWidget(panel)
    for number in range(8):
        hub.jobs.start(Command(f"Job {number}", ("good",)))
    qtbot.waitUntil(lambda: not hub.jobs.active)

    assert [row.process.job.command.title for row in panel.rows] == [
        f"Job {number}" for number in (7, 6, 5, 4, 3, 2)
    ]


def test_the_status_line_shows_what_runs_and_lists_the_rest(hub: Hub, qtbot: QtBot) -> None:
    status = JobStatus(hub)
    qtbot.addWidget(status)
    status.show()
    assert not status.list.isVisible()
    first = hub.jobs.start(Command("First", ("obeys",), alone=True))
    second = hub.jobs.start(Command("Second", ("obeys",), alone=True))
    assert status.row is not None and status.row.process is first
    assert status.list.text() == "1 more"

    first.cancel()
    qtbot.waitUntil(lambda: status.row is not None and status.row.process is second)
    second.cancel()
    qtbot.waitUntil(lambda: status.row is None)
    assert status.list.text() == "Jobs"
