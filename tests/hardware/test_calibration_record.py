"""Curves, rates between measured shapes, and records as JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest

from costlab.devices import fingerprint
from costlab.errors import InputError
from costlab.hardware.calibration_record import CalibrationRecord, Curve, Residual, ShapedRate

_RECORD = CalibrationRecord(
    device="cpu", dtype="float32", threads=1, level="quick", date="2026-01-02T03:04:05+00:00",
    environment=fingerprint(), versions={"torch": "2.13", "costlab": "0"},
    shaped={"matmul": (ShapedRate((1, 64, 64, 64), 4e9), ShapedRate((1, 1024, 1024, 1024), 9e9))},
    bandwidth={"elementwise": Curve(((1e3, 8e9), (1e6, 2e9))), "aten.exp": Curve(((1e3, 1e9),))},
    launch_s={"forward": 1e-6}, step_s=1e-7, residuals=(Residual("matmul", "3 x 4", 1.1, 1.0),),
    spread=0.05, notes=("a note",),
)  # fmt: skip


def test_curve_is_straight_in_log_log_and_flat_outside() -> None:
    curve = Curve(((1e2, 1e6), (1e4, 1e8)))

    assert curve.at(1e3) == pytest.approx(1e7)
    assert (curve.at(1.0), curve.at(1e2), curve.at(1e9)) == (1e6, 1e6, 1e8)
    assert curve.peak == 1e8


@pytest.mark.parametrize("points", [(), ((2.0, 1.0), (1.0, 1.0)), ((1.0, 0.0),), ((1.0, 1.0),) * 2])
def test_curve_refuses_points_that_are_no_function(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="ascending"):
        Curve(points)


def test_a_measured_shape_has_its_own_rate_and_others_lie_between() -> None:
    assert _RECORD.flop_per_s("matmul", (1, 64, 64, 64)) == 4e9
    middle = _RECORD.flop_per_s("matmul", (1, 256, 256, 256))
    assert middle == pytest.approx(6e9)  # as far from both: the geometric mean
    near = _RECORD.flop_per_s("matmul", (1, 70, 64, 64))
    assert near is not None and 4e9 < near < 4.1e9
    assert _RECORD.flop_per_s("fft", (1,)) is None


def test_a_suffixed_name_falls_back_on_its_stem() -> None:
    assert _RECORD.flop_per_s("matmul_backward", (1, 64, 64, 64)) == 4e9


def test_an_operators_own_bandwidth_comes_before_its_kinds() -> None:
    assert _RECORD.bytes_per_s("aten.exp.default", "elementwise", 1e6) == 1e9
    assert _RECORD.bytes_per_s("aten.add.Tensor", "elementwise", 1e6) == 2e9
    assert _RECORD.bytes_per_s("aten.sort.default", "sort", 1e6) is None


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
