"""Curves, rates between measured shapes, and records as JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest

from costlab.devices import fingerprint
from costlab.errors import InputError
from costlab.hardware.calibration_record import (
    PERIOD,
    CalibrationRecord,
    Curve,
    Ragged,
    Residual,
    ShapedRate,
    Unaligned,
)

_RECORD = CalibrationRecord(
    device="cpu", dtype="float32", threads=1, level="quick", date="2026-01-02T03:04:05+00:00",
    environment=fingerprint(), versions={"torch": "2.13", "costlab": "0"},
    shaped={"matmul": (ShapedRate((1, 64, 64, 64), 4e9), ShapedRate((1, 1024, 1024, 1024), 9e9))},
    bandwidth={"elementwise": Curve(((1e3, 8e9), (1e6, 2e9))), "aten.exp": Curve(((1e3, 1e9),))},
    launch_s={"forward": 1e-6}, step_s=1e-7, residuals=(Residual("matmul", "3 x 4", 1.1, 1.0),),
    spread=0.05, notes=("a note",), unaligned=(Unaligned(1000, 1e-9),),
    ragged={"matmul": (Ragged(8, (1.5,) * 2 * PERIOD, (1.1,) * PERIOD, 240),)},
)  # fmt: skip


@pytest.mark.parametrize("points", [(), ((2.0, 1.0), (1.0, 1.0)), ((1.0, 0.0),), ((1.0, 1.0),) * 2])
def test_curve_refuses_points_that_are_no_function(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="ascending"):
        Curve(points)


def test_the_peak_is_the_best_rate() -> None:
    assert _RECORD.peak_flop_per_s == 9e9
    assert Curve(((1e2, 1e6), (1e4, 1e8))).peak == 1e8


def test_record_survives_json() -> None:
    again = CalibrationRecord.from_json(json.loads(json.dumps(_RECORD.to_json())))

    assert again == _RECORD
    assert again.identity == _RECORD.identity


def test_another_schema_is_refused() -> None:
    with pytest.raises(InputError, match="costlab calibrate"):
        CalibrationRecord.from_json({**_RECORD.to_json(), "schema": "costlab.calibrate/0"})


@pytest.mark.parametrize(
    "change", [{"threads": 2}, {"dtype": "bfloat16"}, {"versions": {"torch": "3"}}]
)
def test_identity_holds_what_a_rate_depends_on(change: dict[str, object]) -> None:
    changed = dataclasses.replace(_RECORD, **change)  # type: ignore[arg-type]

    assert changed.identity != _RECORD.identity
