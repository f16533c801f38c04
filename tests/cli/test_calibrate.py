"""``costlab calibrate``: what it asks for and shows; the measuring itself has its own tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from costlab.calibration import api
from costlab.calibration.records import save
from costlab.cli import programs
from costlab.cli.__main__ import main
from costlab.errors import MeasurementError
from costlab.hardware.calibration_record import CalibrationRecord
from tests.hardware.records import calibration


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ("cpu", 1, "float32", "full")),
        (["--quick", "--threads", "2"], ("cpu", 2, "float32", "quick")),
        (["--quickest", "--device", "cuda:0"], ("cuda:0", 1, "float32", "quickest")),
    ],
)
def test_calibrate(
    options: list[str],
    expected: tuple[str, int, str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[tuple[Any, ...]] = []

    def measure(*args: Any, **_options: Any) -> CalibrationRecord:
        asked.append(args)
        return calibration()

    monkeypatch.setattr(api, "calibrate", measure)
    monkeypatch.setattr(programs, "check_device", lambda device, threads: None)

    assert main(["calibrate", *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "costlab.calibrate/3"
    assert asked == [expected]
    assert main(["calibrate", *options]) == 0
    shown = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    assert shown["launch, forward"].strip() == "2 µs"
    assert shown["dependent step"].strip() == "100 ns"


def test_a_failure_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_args: Any, **_options: Any) -> CalibrationRecord:
        raise MeasurementError("the calibration's process died", advice="run costlab doctor")

    monkeypatch.setattr(api, "calibrate", fail)

    assert main(["calibrate"]) == 2
    assert capsys.readouterr().err == (
        "costlab: the calibration's process died; run costlab doctor\n"
    )


def test_a_calibration_of_another_machine_says_what_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    save(calibration())

    assert main(["predict", "full_attention"]) == 2
    error = capsys.readouterr().err
    assert "no longer holds: processor: Example CPU -> " in error
    assert "costlab calibrate" in error
    assert main(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["calibration"]["verdict"] == "WARN"
    assert "processor" in checks["calibration"]["found"]


def test_a_data_folder_that_cannot_be_written_fails_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setenv("COSTLAB_HOME", str(occupied / "home"))

    assert main(["calibrate", "--quickest"]) == 2
    assert f"given: {occupied / 'home'}; set COSTLAB_HOME" in capsys.readouterr().err
