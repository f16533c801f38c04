"""Launch costs from made-up tiny programs whose costs are known."""

from __future__ import annotations

import pytest

from costlab.calibration.launches import launch_costs
from costlab.calibration.pricing import PricedOp
from costlab.calibration.timings import Overheads, TinyProgram
from costlab.devices import fingerprint
from costlab.hardware.calibration_record import CalibrationRecord, Curve, ShapedRate

_RECORD = CalibrationRecord(
    device="cpu", dtype="float32", threads=1, level="trial", date="2026-01-01T00:00:00+00:00",
    environment=fingerprint(), versions={}, shaped={"matmul": (ShapedRate((1, 2, 2, 2), 1e9),)},
    bandwidth={"elementwise": Curve(((1e3, 1e9),))}, launch_s={}, step_s=0.0,
)  # fmt: skip
_PRODUCT_S, _PASS_S = 4e-6, 3e-5


def _tiny(
    style: str, launches: int, cost_s: float, products: int = 0, passes: int = 0
) -> TinyProgram:
    """Calls without work, some of them products with a bias."""
    names = ["aten.addmm.default"] * products + ["aten.relu.default"] * (launches - products)
    ops = tuple(PricedOp(name, "elementwise", "forward", 0, 0, 1, ()) for name in names)
    time_s = launches * cost_s + products * _PRODUCT_S + passes * _PASS_S
    return TinyProgram(style, "forward", ops, time_s, passes)


def test_launches_products_and_passes_cost_what_tiny_programs_take() -> None:
    programs = [
        _tiny("", 10, 2e-6, products=4), _tiny("", 5, 8e-6),
        _tiny("loop_", 120, 1e-6, products=20, passes=10), _tiny("loop_", 30, 1e-6, 10, 10),
        _tiny("fused_", 100, 2e-7, products=10), _tiny("fused_", 30, 2e-7, products=10),
    ]  # fmt: skip

    costs = launch_costs(programs, _RECORD)

    assert costs == pytest.approx({
        "forward": 4e-6, "loop_forward": 1e-6, "pass_forward": _PASS_S,
        "fused_forward": 2e-7, "product_forward": _PRODUCT_S,
    })  # fmt: skip


def test_no_cost_is_negative() -> None:
    """A longer program that took less would make passes cost less than nothing."""
    odd = [_tiny("loop_", 20, 5e-6, passes=10), _tiny("loop_", 100, 2e-5, passes=10)]

    costs = launch_costs(odd, _RECORD)

    assert costs["pass_forward"] == 0.0
    assert 5e-6 < costs["loop_forward"] < 2.5e-5


def test_a_disturbed_round_of_overheads_does_not_count() -> None:
    quiet = Overheads((_tiny("", 10, 2e-6),), 1e-7, 1e-6, 5e-6)
    hit = Overheads((_tiny("", 10, 9e-6),), 9e-7, 9e-6, 9e-6)

    assert Overheads.quickest([hit, quiet, hit]) == quiet
