"""Polling in one thread: never waited for, ended with its watchers, quiet while measuring."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from costlab.devices.readers import NullReader
from costlab.devices.readings import Reading, Sample
from costlab.devices.system import open_readers
from costlab_gui.model.monitor import Monitor, Snapshot
from costlab_gui.model.trace import open_trace
from tests.devices.fake_nvml import UUIDS, FakeLibrary, loaded

DEADLINE_S = 10.0


class Slow:
    """A device that answers only while it is let to."""

    id, name, kind = "gpu", "Slow GPU", "gpu"

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.parts: list[str] = []
        self.closed = False

    def read(self) -> Sample:
        return self._sample("every", power=Reading(50, "W"), processes=Reading(2, ""))

    def read_quick(self) -> Sample:
        return self._sample("quick", power=Reading(60, "W"))

    def read_memory(self) -> Sample:
        return self._sample("memory", memory_used=Reading(7, "B"))

    def _sample(self, part: str, **readings: Reading) -> Sample:
        self.answers.wait(DEADLINE_S)
        self.parts.append(part)
        return Sample(time.monotonic(), 0.0, self.id, readings)

    def close(self) -> None:
        self.closed = True


def threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "costlab-monitor"]


def until(monitor: Monitor, true: Callable[[Snapshot], bool]) -> Snapshot:
    end = time.monotonic() + DEADLINE_S
    while not true(snapshot := monitor.snapshot()):
        assert time.monotonic() < end, snapshot
        threading.Event().wait(0.005)
    return snapshot


def heard(count: int) -> Callable[[Snapshot], bool]:
    return lambda snapshot: any(len(one.samples) >= count for one in snapshot.devices)


@pytest.fixture
def gpus() -> Iterator[FakeLibrary]:
    with loaded() as library:
        yield library


def test_one_thread_reads_all_devices_and_ends_with_the_last_watcher(gpus: FakeLibrary) -> None:
    monitor = Monitor()
    monitor.attach()
    monitor.attach()
    snapshot = until(monitor, heard(1))

    assert [one.kind for one in snapshot.devices] == ["cpu", "gpu", "gpu"]
    assert [one.id for one in snapshot.devices[1:]] == list(UUIDS)
    assert len(threads()) == 1
    monitor.detach()
    assert len(threads()) == 1
    monitor.detach()
    assert threads() == []
    assert gpus.open == 0


def test_the_list_of_processes_is_asked_for_rarely(gpus: FakeLibrary) -> None:
    monitor = Monitor(lambda: open_readers()[1:2])
    monitor.period_s = 0.01
    assert monitor.period_s == 0.25
    monitor.attach()
    snapshot = until(monitor, heard(3))
    monitor.detach()

    lists = sum(call.startswith("nvmlDeviceGetComputeRunning") for call in gpus.calls)
    gpus.calls.clear()
    (reader,) = open_readers()[1:2]
    reader.read()
    assert lists == sum(call.startswith("nvmlDeviceGetComputeRunning") for call in gpus.calls)
    # What was not read again stands as it was.
    assert [one.get("processes").value for one in snapshot.devices[0].samples[:3]] == [2, 2, 2]


def test_while_something_is_measured_memory_alone_is_read() -> None:
    device = Slow()
    monitor = Monitor(lambda: [device])
    monitor.period_s = 0.25
    monitor.attach()
    until(monitor, heard(1))
    monitor.memory_only = True
    assert monitor.period_s == 1.0
    snapshot = until(monitor, lambda one: device.parts[-1] == "memory" and heard(2)(one))
    monitor.memory_only = False
    after = until(monitor, lambda one: device.parts[-1] != "memory")
    monitor.detach()

    last = snapshot.devices[0].samples[-1]
    assert (last.get("memory_used").value, last.get("power").value) == (7, None)
    assert "measured" in last.get("power").text
    assert device.parts[device.parts.index("memory") + 1 :][:1] in (["every"], ["memory"])
    assert after.devices[0].name == "Slow GPU"


def test_a_device_that_hangs_is_said_and_never_waited_for() -> None:
    device, skipped_s = Slow(), [0.0]
    monitor = Monitor(lambda: [device], clock=lambda: time.monotonic() + skipped_s[0])
    monitor.period_s = 0.25
    monitor.attach()
    until(monitor, heard(1))
    device.answers.clear()
    read = len(device.parts)
    skipped_s[0] = 8.0

    assert monitor.snapshot().silence == "no answer for 8 s"
    begin = time.monotonic()
    monitor.detach()
    monitor.attach()
    assert time.monotonic() - begin < 0.1
    assert len(threads()) == 1, "the thread that hangs is used again"
    device.answers.set()
    assert until(monitor, lambda one: len(device.parts) > read and not one.stalled).silence == ""
    monitor.detach()
    assert threads() == []
    assert device.closed


def test_a_recording_is_what_was_shown(gpus: FakeLibrary, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    monitor = Monitor()
    monitor.period_s = 0.25
    monitor.record(path)
    monitor.attach()
    snapshot = until(monitor, heard(3))
    monitor.detach()

    assert snapshot.recording == path
    assert json.loads(path.read_text().splitlines()[0])["period_s"] == 0.25
    trace = open_trace(path)
    for shown, recorded in zip(snapshot.devices, trace.devices, strict=True):
        assert recorded.samples[: len(shown.samples)] == shown.samples


def test_a_recording_that_cannot_be_written_ends_and_says_so() -> None:
    monitor = Monitor(lambda: [NullReader("gpu", {"power": "W"}, "no_driver")])
    monitor.record(Path("/no/such/folder/trace.jsonl"))
    monitor.attach()
    snapshot = until(monitor, lambda one: bool(one.problem))
    monitor.detach()

    assert snapshot.recording is None
    assert "/no/such/folder/trace.jsonl" in snapshot.problem


def test_readers_that_fail_are_named() -> None:
    def broken() -> list[NullReader]:
        raise OSError("no bus")

    monitor = Monitor(broken)
    monitor.attach()
    assert "no bus" in until(monitor, lambda one: bool(one.problem)).problem
    monitor.detach()
