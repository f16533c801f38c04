"""The monitor page: live devices, a trace to scrub through, a device that hangs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab.devices.readings import Reading, Sample
from costlab.devices.recording import Recording
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.jobs import Command
from costlab_gui.model.kinds import TRACE, kind_of
from costlab_gui.model.monitor import Monitor
from costlab_gui.model.trace import open_trace
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.monitor_page import MonitorPage
from costlab_gui.widgets.device_panel import DevicePanel
from tests.devices.fake_nvml import NAMES, loaded
from tests.gui.model.test_monitor import Slow, threads


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[MonitorPage]:
    """A page on a machine with two GPUs, not shown yet."""
    with loaded("throttle=0x44;fail=nvmlDeviceGetTemperatureV:3;fail=nvmlDeviceGetTemperature:3"):
        found = MonitorPage(Hub(Document(), Workspace()))
        found.resize(900, 600)
        qtbot.addWidget(found)
        yield found
        found.hide()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """One GPU over ten seconds, whose power rises by 10 W a second."""
    path = tmp_path / "trace.jsonl"
    device = Slow()
    recording = Recording(path, [device], period_s=1.0)
    for second in range(11):
        power = Reading(100 + 10 * second, "W")
        recording.add(Sample(50.0 + second, 0.0, device.id, {"power": power}))
    recording.close()
    return path


def said(panel: DevicePanel, key: str) -> str:
    (view,) = (one for one in panel.views if one.gauge.key == key)
    return view.value.text()


def test_all_gpus_at_once_while_the_page_is_shown(page: MonitorPage, qtbot: QtBot) -> None:
    assert threads() == []
    page.show()
    qtbot.waitUntil(lambda: len(page.panels) == 3 and said(page.panels[2], "power") != "n/a")

    assert [panel.accessibleName() for panel in page.panels[1:]] == list(NAMES)
    slow = page.panels[1]
    assert (said(slow, "utilisation"), said(slow, "memory_used")) == ("37 %", "2 of 80 GiB")
    assert said(slow, "throttle") == "power cap, too hot (hardware)"
    (view,) = (one for one in slow.views if one.gauge.key == "temperature")
    assert view.value.text() == "n/a"
    assert "not support" in view.toolTip() and "not support" in view.accessibleDescription()
    page.hide()
    assert threads() == []


def test_a_trace_is_opened_scrubbed_and_closed(
    page: MonitorPage, trace: Path, qtbot: QtBot
) -> None:
    page.show()
    qtbot.waitUntil(lambda: len(page.panels) == 3)
    page.open_trace(trace)
    qtbot.waitUntil(lambda: page.trace is not None)

    (panel,) = page.panels
    bar = page.trace_bar
    assert said(panel, "power") == "200 W"
    assert bar.time.text() == "0:10 of 0:10"
    qtbot.keyClick(bar.slider, Qt.Key.Key_Home)
    assert (said(panel, "power"), bar.time.text()) == ("100 W", "0:00 of 0:10")
    qtbot.keyClick(bar.slider, Qt.Key.Key_Right)
    assert said(panel, "power") == "110 W"
    (view,) = (one for one in panel.views if one.gauge.key == "power")
    qtbot.mouseClick(view.line, Qt.MouseButton.LeftButton, pos=view.line.rect().center())
    assert said(panel, "power") in ("140 W", "150 W")
    assert bar.slider.value() == pytest.approx(50, abs=5)

    qtbot.mouseClick(bar.close_button, Qt.MouseButton.LeftButton)
    assert page.trace is None
    assert [one.accessibleName() for one in page.panels[1:]] == list(NAMES)


def test_a_trace_that_is_dropped_on_the_window_is_asked_for(
    page: MonitorPage, trace: Path, qtbot: QtBot
) -> None:
    assert kind_of(trace) == TRACE
    page.hub.asked.emit("open trace", trace)
    qtbot.waitUntil(lambda: page.trace is not None)


def test_while_a_job_measures_memory_alone_is_read(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = (sys.executable, "-c", "import sys; sys.stdin.read()")
    monkeypatch.setattr("costlab_gui.jobs.job_list.this_program", lambda: waits)
    hub = Hub(Document(), Workspace())
    job = hub.jobs.start(Command("measure", (), alone=True))
    assert hub.monitor.memory_only
    with qtbot.waitSignal(job.ended):
        job.cancel()
    assert not hub.monitor.memory_only


def test_a_file_that_is_no_trace_is_told(page: MonitorPage, tmp_path: Path, qtbot: QtBot) -> None:
    path = tmp_path / "no.jsonl"
    path.write_text("{}\n")
    with qtbot.waitSignal(page.hub.told) as caught:
        page.open_trace(path)

    assert "no recorded trace" in caught.args[0].text
    assert page.trace is None


def test_what_is_recorded_can_be_opened(page: MonitorPage, tmp_path: Path, qtbot: QtBot) -> None:
    path = tmp_path / "mine.jsonl"
    page.hub.monitor.record(path)
    page.show()
    qtbot.waitUntil(lambda: page.bar.record.text() == "Stop recording")
    qtbot.waitUntil(lambda: path.exists() and path.read_text().count("\n") > 3)
    qtbot.mouseClick(page.bar.record, Qt.MouseButton.LeftButton)
    assert page.bar.record.text() == "Record …"
    page.hide()

    assert len(open_trace(path).devices) == 3


def test_a_device_that_hangs_greys_the_page_and_holds_nothing_up(qtbot: QtBot) -> None:
    device, hub = Slow(), Hub(Document(), Workspace())
    device.answers.clear()
    now_s = [0.0]
    hub.monitor = Monitor(lambda: [device], clock=lambda: now_s[0])
    page = MonitorPage(hub)
    qtbot.addWidget(page)
    page.show()
    now_s[0] = 8.0
    qtbot.waitUntil(lambda: page.bar.note.text() == "no answer for 8 s")
    grey = [not page.devices_enabled]

    device.answers.set()
    qtbot.waitUntil(lambda: page.bar.note.text().startswith("live"))
    grey.append(not page.devices_enabled)
    page.hide()
    assert grey == [True, False]
