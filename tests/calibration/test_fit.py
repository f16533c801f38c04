"""Rates from synthetic timings whose rates are known."""

from __future__ import annotations

import dataclasses

import pytest

from costlab.calibration.fit import (
    errors_by_name,
    tables,
    with_program_state,
    with_residuals,
)
from costlab.calibration.pricing import PricedOp, predict_ops
from costlab.calibration.suite import BANDWIDTH, PASS, SHAPED, Case
from costlab.calibration.timings import TimedCase
from costlab.devices import fingerprint
from costlab.hardware.calibration_record import CalibrationRecord, Residual
from costlab.hardware.rates import CalibratedRates

_BARE_S = 1e-6
_FLOP_PER_S = 5e10
_BYTES_PER_S = 2e9


def _matmul(m: int, k: int, n: int, *, held_out: bool = False) -> TimedCase:
    flop = 2 * m * k * n
    op = PricedOp("aten.mm.default", "matmul", "forward", flop, 4 * (m * k + k * n + m * n), 1,
                  ((m, k), (k, n)))  # fmt: skip
    time_s = _BARE_S + flop / _FLOP_PER_S
    return TimedCase(
        Case(SHAPED, "matmul", "matmul", (1, m, k, n), held_out),
        (op,),
        (2 * time_s, 0.5 * time_s, time_s),
    )


def _addition(elements: int, *, held_out: bool = False) -> TimedCase:
    op = PricedOp("aten.add.Tensor", "elementwise", "forward", elements, 12 * elements, 1,
                  ((elements,), (elements,)))  # fmt: skip
    time_s = _BARE_S + op.bytes / _BYTES_PER_S
    case = Case(BANDWIDTH, "elementwise", "add", (elements,), held_out)
    return TimedCase(case, (op,), (time_s, time_s))


def _record(timed: list[TimedCase]) -> CalibrationRecord:
    shaped, bandwidth = tables(timed, _BARE_S, _BARE_S)
    return CalibrationRecord(
        device="cpu", dtype="float32", threads=1, level="trial", date="2026-01-01T00:00:00+00:00",
        environment=fingerprint(), versions={}, shaped=shaped, bandwidth=bandwidth,
        launch_s={"forward": _BARE_S}, step_s=0.0,
    )  # fmt: skip


def _bandwidth(record: CalibrationRecord, op: str, size: float) -> object:
    return CalibratedRates(record).bytes_per_s(op, "elementwise", size)


_TIMED = [_matmul(64, 96, 32), _matmul(640, 96, 320), _addition(1000), _addition(10**6)]


def test_the_middle_visit_without_the_bare_call_gives_the_rate() -> None:
    record = _record(_TIMED)

    assert [rate.flop_per_s for rate in record.shaped["matmul"]] == pytest.approx([_FLOP_PER_S] * 2)
    assert _bandwidth(record, "aten.sub.Tensor", 5e5) == pytest.approx(_BYTES_PER_S)


def test_held_out_cases_give_no_rate_but_an_error() -> None:
    held_out = [_matmul(100, 100, 100, held_out=True), _addition(5000, held_out=True)]
    record = with_residuals(_record([*_TIMED, *held_out]), [*_TIMED, *held_out])

    assert [rate.shape for rate in record.shaped["matmul"]] == [(1, 64, 96, 32), (1, 640, 96, 320)]
    assert [residual.name for residual in record.residuals] == ["matmul", "elementwise"]
    assert [r.relative_error for r in record.residuals] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_kernel_alone_is_not_slowed_as_calls_of_programs_are() -> None:
    record = dataclasses.replace(_record(_TIMED), program_factor=2.0, cold_share=1.0)

    held_out = [_matmul(100, 100, 100, held_out=True), _addition(5000, held_out=True)]
    residuals = with_residuals(record, held_out).residuals

    assert [one.relative_error for one in residuals] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_wrong_rate_shows_in_the_residual() -> None:
    slow = _matmul(100, 100, 100, held_out=True)
    slow = dataclasses.replace(slow, times_s=(2 * slow.time_s,))
    record = with_residuals(_record(_TIMED), [slow])

    assert record.residuals[0].relative_error == pytest.approx(-0.5)


def test_spread_is_the_median_over_cases_of_slow_over_quick_rounds() -> None:
    once = dataclasses.replace(_addition(8), times_s=(1.0,))
    timed = [_matmul(9, 9, 9), _matmul(8, 8, 8), _addition(7), once, once, once]
    record = with_residuals(_record(_TIMED), timed)

    assert record.spread == pytest.approx(3.0)


def test_a_curve_that_ends_in_the_caches_is_capped_by_the_largest_addition() -> None:
    fast = _addition(100_000)
    fast = dataclasses.replace(
        fast, case=dataclasses.replace(fast.case, name="aten.quick"), times_s=(_BARE_S + 1e-5,)
    )
    record = _record([*_TIMED, fast])

    assert _bandwidth(record, "aten.quick", 1.2e6) == pytest.approx(1.2e6 / 1e-5)
    assert _bandwidth(record, "aten.quick", 1e9) == pytest.approx(_BYTES_PER_S)


def test_work_is_never_taken_to_be_nothing() -> None:
    """A call shorter than the bare call would have an infinite or negative rate."""
    tiny = dataclasses.replace(_matmul(2, 2, 2), times_s=(_BARE_S / 2,))

    assert _record([tiny]).shaped["matmul"][0].flop_per_s == pytest.approx(16 / (_BARE_S / 10))


def test_predicted_time_adds_work_and_launches() -> None:
    ops = [op for item in _TIMED for op in item.ops]

    times = predict_ops(ops, _record(_TIMED), "forward")

    assert float(times.total_s) == pytest.approx(sum(item.time_s for item in _TIMED), rel=0.02)
    assert float(times.launch_s) == pytest.approx(len(_TIMED) * _BARE_S)


def test_errors_by_name_are_medians_of_absolute_errors() -> None:
    residuals = [Residual("a", "", 1.1, 1.0), Residual("a", "", 0.7, 1.0), Residual("b", "", 2, 1)]

    assert errors_by_name(residuals) == pytest.approx({"a": 0.2, "b": 1.0})


def _pass(elements: int, factor: float) -> TimedCase:
    """A program of one addition, the work of which takes ``factor`` as long as alone."""
    item = _addition(elements)
    case = Case(PASS, "pass", "block_pass", (elements,), held_out=True)
    times_s = tuple(_BARE_S + factor * (time_s - _BARE_S) for time_s in item.times_s)
    return dataclasses.replace(item, case=case, times_s=times_s, peak_bytes=12 * elements)


def test_programs_tell_what_calls_take_within_them() -> None:
    timed = [*_TIMED, *(_pass(elements, 1.3) for elements in (2000, 30_000, 500_000))]

    record = with_residuals(with_program_state(_record(timed), timed), timed)

    # The factors that are tried are 5 % apart.
    assert record.program_factor == pytest.approx(1.3, rel=0.03)
    assert [r.relative_error for r in record.residuals] == pytest.approx([0.0] * 3, abs=0.03)


def test_programs_that_find_their_bytes_further_out_have_a_cold_share() -> None:
    """Bytes cost twice as much at the largest size; the programs as much as if all lay there."""
    large = _addition(10**6)
    large = dataclasses.replace(large, times_s=(_BARE_S + 2 * large.ops[0].bytes / _BYTES_PER_S,))
    programs = []
    for elements, share in ((100_000, 1.0), (50_000, 1.0), (10**6, 0.0)):
        item = _pass(elements, 1.0)
        cold_s = _BARE_S + 2 * item.ops[0].bytes / _BYTES_PER_S
        peak = 12_000_000 if share else 12 * elements
        programs.append(dataclasses.replace(item, times_s=(cold_s,), peak_bytes=peak))
    timed = [_addition(1000), _addition(200_000), large, *programs]

    record = with_program_state(_record(timed), timed)

    assert record.cold_share == 1.0
    assert record.program_factor == pytest.approx(1.0, rel=0.03)
