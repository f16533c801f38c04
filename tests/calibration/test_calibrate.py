"""A whole calibration in a child process, and records on disk."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch

from costlab.calibration.api import calibrate
from costlab.calibration.records import folder, load_latest, records, save, staleness
from costlab.devices import fingerprint
from costlab.errors import InputError, MeasurementError
from costlab.hardware.calibration_record import (
    EXTRAS,
    PHASES,
    STYLES,
    CalibrationRecord,
    Curve,
    ShapedRate,
)


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COSTLAB_HOME", str(tmp_path))


def _record(date: str = "2026-01-02T03:04:05+00:00", **change: object) -> CalibrationRecord:
    record = CalibrationRecord(
        device="cpu", dtype="float32", threads=1, level="quick", date=date,
        environment=fingerprint(), versions={"torch": "2"},
        shaped={"matmul": (ShapedRate((1, 2, 3, 4), 1e9),)},
        bandwidth={"copy": Curve(((1e3, 2e9), (1e6, 1e9)))},
        launch_s={"forward": 1e-6}, step_s=0.0,
    )  # fmt: skip
    return dataclasses.replace(record, **change)  # type: ignore[arg-type]


def test_a_calibration_measures_and_keeps_its_record() -> None:
    shares: list[float] = []

    record = calibrate(level="trial", progress=lambda _text, share: shares.append(share))

    assert load_latest() == record
    # What a neighbour on the cores kept from being measured alone is said; all else was measured.
    assert all("to themselves" in note for note in record.notes)
    names = (*STYLES, *EXTRAS)
    assert set(record.launch_s) == {name + phase for name in names for phase in PHASES}
    assert 0 <= record.cold_share <= 1
    costs = record.launch_s.items()
    assert all(0 < seconds < 1 for name, seconds in costs if not name.startswith(EXTRAS))
    assert all(0 <= seconds < 1 for name, seconds in costs)
    assert record.peak_flop_per_s > 1e8
    assert {"elementwise", "copy", "softmax"} <= set(record.bandwidth)
    assert {residual.name for residual in record.residuals} >= {"matmul", "pass"}
    assert all(math.isfinite(residual.relative_error) for residual in record.residuals)
    assert shares == sorted(shares) and shares[-1] == 1.0


def test_a_cancelled_calibration_leaves_no_record() -> None:
    with pytest.raises(MeasurementError, match="cancelled"):
        calibrate(level="trial", cancelled=lambda: True)

    assert list(records()) == []


@pytest.mark.parametrize(
    "change", [{"level": "fast"}, {"dtype": "int8"}, {"device": "tpu"}, {"threads": 0}]
)
def test_bad_input_is_refused_before_anything_starts(change: dict[str, object]) -> None:
    with pytest.raises(InputError):
        calibrate(**change)  # type: ignore[arg-type]


def test_the_newest_fitting_record_is_loaded() -> None:
    old, new = _record(), _record("2026-02-02T03:04:05+00:00")
    for record in (new, old, _record("2026-03-02T03:04:05+00:00", threads=2)):
        save(record)

    assert load_latest() == new
    assert load_latest(threads=3) is None
    assert load_latest(dtype="bfloat16") is None


def test_records_of_another_schema_or_torn_ones_are_passed_over() -> None:
    save(_record())
    (folder() / "torn.json").write_text('{"schema": "costlab.cal')
    (folder() / "other.json").write_text(json.dumps({"schema": "costlab.calibrate/99"}))

    assert list(records()) == [_record()]


def test_a_record_of_another_environment_is_stale() -> None:
    elsewhere = dataclasses.replace(fingerprint(), torch="1.0", cpu="another")
    save(_record(environment=elsewhere))

    assert load_latest() is None
    stale = load_latest(stale=True)
    assert stale is not None
    assert any("torch: 1.0 ->" in change for change in staleness(stale))
    assert any("another" in change for change in staleness(stale))
    assert staleness(_record()) == ()


def test_a_device_that_is_not_there_is_an_error_of_one_line_and_leaves_no_record() -> None:
    if torch.cuda.is_available():
        device = f"cuda:{torch.cuda.device_count()}"
    else:
        device = "cuda:0"

    with pytest.raises(InputError, match="CUDA") as raised:
        calibrate(device, level="trial")

    assert "\n" not in str(raised.value)
    assert list(records()) == []
