"""``costlab monitor``: live readings, recorded ones, and its end."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from costlab.cli.__main__ import main
from costlab.cli.readings_text import device_text, value_text
from costlab.devices.readings import Reading, Sample, missing
from costlab.devices.reasons import REASONS
from tests.devices.fake_nvml import NAMES, UUIDS, FakeLibrary, loaded

ONE = ["monitor", "--every", "10ms", "--for", "10ms"]


@pytest.fixture
def gpus() -> Iterator[FakeLibrary]:
    with loaded("throttle=0x44;fail=nvmlDeviceGetTotalEnergyConsumption:3") as library:
        yield library


def rounds(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    assert main([*argv, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_cpu_and_gpus_are_shown(gpus: FakeLibrary, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ONE) == 0

    text = capsys.readouterr().out
    for line in (*NAMES, "utilisation", "250 W  NVML field 186, chip, instant", "1.98 GHz",
                 "power_cap, hardware_thermal", "41 °C", "37 %", "80 GiB"):  # fmt: skip
        assert line in text
    assert f"n/a  energy: {REASONS['energy_before_volta']}" in text
    assert gpus.open == 0


def test_no_gpu_says_why_once(capsys: pytest.CaptureFixture[str]) -> None:
    with loaded("fail=nvmlInitWithFlags:9"):
        assert main(ONE) == 0

    text = capsys.readouterr().out
    assert f"\nGPU\n  n/a  all readings: {REASONS['no_driver']}" in text


def test_json_is_a_document_a_line(gpus: FakeLibrary, capsys: pytest.CaptureFixture[str]) -> None:
    found = rounds(capsys, *ONE)

    assert found[0]["schema"] == "costlab.monitor/1"
    assert [(one["id"], one["kind"]) for one in found[0]["devices"]] == [
        ("cpu", "cpu"), (UUIDS[0], "gpu"), (UUIDS[1], "gpu")
    ]  # fmt: skip
    for sample in found[0]["samples"]:
        for reading in sample["readings"].values():
            assert (reading["value"] is None) == ("reason" in reading)


def test_a_recorded_trace_is_played_as_it_was_shown(
    gpus: FakeLibrary, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.jsonl"
    shown = rounds(capsys, *ONE, "--record", str(path))

    played = rounds(capsys, "monitor", "--replay", str(path), "--every", "10ms")

    assert played == shown
    assert len(path.read_text().splitlines()) == 1 + sum(len(one["samples"]) for one in shown)


def test_quiet_records_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.jsonl"

    assert main([*ONE, "--quiet", "--record", str(path)]) == 0

    assert capsys.readouterr().out == ""
    assert len(path.read_text().splitlines()) >= 3


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--every", "1ms"], "10ms"),
        (["--every", "often"], "--every"),
        (["--for", "0s"], "--for"),
        (["--record", "/no/such/folder/trace"], "/no/such/folder"),
        (["--replay", "/no/such/trace"], "/no/such/trace"),
        (["--replay", __file__], "no recorded trace"),
        (["--replay", "a", "--record", "b"], "not allowed with"),
    ],
)
def test_bad_input_is_one_line(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["monitor", *argv]) == 2

    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_a_full_disk_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ONE, "--record", "/dev/full"]) == 2

    assert capsys.readouterr().err == "costlab: No space left on device\n"


@pytest.mark.parametrize(("more", "code"), [([], 0), (["--for", "1h"], 130)])
def test_ctrl_c_ends_in_order_and_keeps_what_was_recorded(
    more: list[str], code: int, tmp_path: Path
) -> None:
    path = tmp_path / "trace.jsonl"
    argv = ["monitor", "--every", "50ms", "--json", "--record", str(path), *more]
    program = f"import sys; from costlab.cli.__main__ import main; sys.exit(main({argv!r}))"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (code, "")
    shown = [json.loads(line) for line in (first + rest).splitlines()]
    recorded = [json.loads(line) for line in path.read_text().splitlines()]
    assert recorded[1:] == [sample for one in shown for sample in one["samples"]]


def test_a_terminal_is_redrawn_in_place(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    assert main([*ONE, "--quiet", "--every", "10ms", "--for", "60ms", "--record", str(trace)]) == 0
    parent, child = pty.openpty()
    argv = ["monitor", "--replay", str(trace), "--every", "10ms"]
    program = f"import sys; from costlab.cli.__main__ import main; sys.exit(main({argv!r}))"
    environment = {**os.environ, "COLUMNS": "60", "LINES": "50"}

    done = subprocess.run(
        [sys.executable, "-c", program], stdout=child, env=environment, check=False
    )

    os.close(child)
    text = os.read(parent, 100_000).decode()
    os.close(parent)
    assert done.returncode == 0
    assert "A\x1b[J" in text
    drawn = text.replace("\x1b[J", "\n").splitlines()
    assert max(len(line) for line in drawn) < 60


@pytest.mark.parametrize(
    ("name", "reading", "text"),
    [
        ("power", Reading(0.0, "W"), "0 W"),
        ("power", missing("W", "mig"), "n/a"),
        ("utilisation", Reading(0.37, "fraction"), "37 %"),
        ("throttle", Reading(0, "bits"), "none"),
        ("throttle", Reading(0x40, "bits"), "hardware_thermal"),
        ("mig", Reading(0, ""), "off"),
        ("persistence", Reading(1, ""), "on"),
        ("processes", Reading(0, ""), "0"),
        ("load", Reading(1.25, "CPU"), "1.25 CPU"),
        ("temperature", Reading(41, "°C"), "41 °C"),
        ("sm_clock", Reading(1980e6, "Hz"), "1.98 GHz"),
        ("memory_used", Reading(3 * 2**30, "B"), "3 GiB"),
    ],
)
def test_values_as_text(name: str, reading: Reading, text: str) -> None:
    assert value_text(name, reading) == text


def test_missing_readings_are_gathered_by_reason() -> None:
    readings = {
        "energy": missing("J", "mig_whole_card"),
        "power": missing("W", "mig_whole_card"),
        "temperature": Reading(41, "°C", "sensor"),
        "utilisation": missing("fraction", "mig"),
    }

    assert device_text("Name", Sample(0, 0, "x", readings)).splitlines() == [
        "Name",
        "  temperature  41 °C  sensor",
        f"  n/a  energy, power: {REASONS['mig_whole_card']}",
        f"  n/a  utilisation: {REASONS['mig']}",
    ]
