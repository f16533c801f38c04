"""CPU readings, against the system's own figures and made-up ones."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from costlab.devices.cpu import CPU_UNITS, CpuReader
from costlab.devices.limits import Limits
from costlab.devices.readers import partial_query
from costlab.devices.reasons import REASONS
from tests.devices.test_rapl import zone


def test_every_reading_is_a_value_or_a_reason(tmp_path: Path) -> None:
    sample = CpuReader(powercap=tmp_path / "none").read()

    assert {name: reading.unit for name, reading in sample.readings.items()} == CPU_UNITS
    for reading in sample.readings.values():
        assert (reading.value is None) == (reading.reason in REASONS)
    assert sample.readings["energy"].reason == sample.readings["power"].reason == "no_powercap"
    assert sample.readings["utilisation"].reason == "first_reading"


def test_figures_agree_with_the_system() -> None:
    readings = CpuReader().read().readings

    assert readings["memory_total"].value == psutil.virtual_memory().total
    assert readings["affinity"].value == len(os.sched_getaffinity(0))
    assert readings["process_memory"].value == pytest.approx(
        psutil.Process().memory_info().rss, rel=0.2
    )


def test_a_busy_process_is_seen() -> None:
    """With one second between the reads, the reading is the CPU time spent in it."""
    now = [0.0]
    reader = CpuReader(clock=lambda: now[0])
    outer_s = time.process_time()
    reader.read()
    inner_s = time.process_time()
    while time.process_time() - inner_s < 0.1:
        sum(range(1000))
    least_s = time.process_time() - inner_s
    now[0] = 1.0

    reading = reader.read().readings["process_cpu"]

    most_s = time.process_time() - outer_s
    assert reading.value is not None
    # The system counts in ticks of 10 ms.
    assert least_s - 0.02 < reading.value < most_s + 0.02


def test_power_is_the_energy_over_the_time_between(tmp_path: Path) -> None:
    now = [10.0]
    counter = zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    reader = CpuReader(powercap=tmp_path, clock=lambda: now[0])

    assert reader.read().readings["power"].reason == "first_reading"
    now[0] = 12.5
    counter.write_text("51000000")
    readings = reader.read().readings

    assert readings["energy"].value == pytest.approx(50)
    assert readings["power"].value == pytest.approx(20)


def test_energy_alone_has_the_same_readings(tmp_path: Path) -> None:
    now = [10.0]
    counter = zone(tmp_path, "intel-rapl:0", "package-0", 0)
    reader = CpuReader(powercap=tmp_path, clock=lambda: now[0])
    read = partial_query(reader, "energy")

    read()
    now[0] = 10.5
    counter.write_text("20000000")

    assert {name: one.value for name, one in read().readings.items()} == {
        "energy": pytest.approx(20), "power": pytest.approx(40)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("function", "answer", "reading", "value", "reason"),
    [
        ("cpu_freq", None, "frequency", None, "no_sensor"),
        ("cpu_freq", SimpleNamespace(current=0.0), "frequency", None, "no_sensor"),
        ("cpu_freq", SimpleNamespace(current=2100.0), "frequency", 2.1e9, ""),
        ("cpu_freq", OSError("gone"), "frequency", None, "unreadable"),
        ("sensors_temperatures", {}, "temperature", None, "no_sensor"),
        ("sensors_temperatures", {"nvme": [SimpleNamespace(current=40.0)]}, "temperature", None,
         "no_sensor"),
        ("sensors_temperatures", {"k10temp": [SimpleNamespace(current=51.0),
                                              SimpleNamespace(current=63.0)]}, "temperature", 63.0,
         ""),
        ("sensors_temperatures", OSError("gone"), "temperature", None, "unreadable"),
    ],
)  # fmt: skip
def test_sensors(
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    answer: Any,
    reading: str,
    value: float | None,
    reason: str,
) -> None:
    def respond() -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(psutil, function, respond, raising=False)

    found = CpuReader().read().readings[reading]

    assert (found.value, found.reason) == (value, reason)


@pytest.mark.parametrize(
    ("limits", "cpus", "reason"),
    [
        (Limits(1.5, 2**31), 1.5, ""),
        (Limits(None, None), None, "no_limit"),
        (Limits(None, None, "no control groups"), None, "no_control_groups"),
    ],
)
def test_limits_of_the_control_group(
    monkeypatch: pytest.MonkeyPatch, limits: Limits, cpus: float | None, reason: str
) -> None:
    monkeypatch.setattr("costlab.devices.cpu.cgroup_limits", lambda: limits)

    reading = CpuReader().read().readings["cpu_limit"]

    assert (reading.value, reading.reason) == (cpus, reason)


def test_a_process_that_is_gone_is_missing() -> None:
    child = psutil.Popen(["true"])
    reader = CpuReader(child.pid)
    child.wait()

    readings = reader.read().readings

    for name in ("process_cpu", "process_memory", "affinity"):
        assert readings[name].reason == "not_found"
