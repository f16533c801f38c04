"""Joining, error summaries and exponents on points with known errors and slopes."""

from __future__ import annotations

import json
import math
import random

import pytest

from costlab.algebra import Size
from costlab.comparison.api import compare
from costlab.comparison.statistics import fit_slope, log_crossing
from costlab.formulas.record import Derivation
from costlab.prediction.api import predict
from tests.comparison.points import measured, predictions_over
from tests.prediction.machines import flat_machine
from tests.prediction.programs import derivation, group, n, recurrence


def test_errors_are_relative_to_the_measured_value() -> None:
    predictions = predictions_over([100, 200, 300, 400])
    points = [
        measured(p, factor) for p, factor in zip(predictions, [1.25, 0.8, 1.0, 2.0], strict=True)
    ]

    compared = compare(points, predictions, run="r1")

    # predicted / measured = 0.8, 1.25, 1, 0.5: errors -0.2, 0.25, 0, -0.5
    time = compared.overall["time"]
    assert time.count == 4
    assert time.median_ape == pytest.approx(0.225)
    assert time.max_ape == pytest.approx(0.5)
    assert time.bias == pytest.approx(-0.1)
    assert time.in_interval == pytest.approx(3 / 4)
    assert compared.overall["peak_bytes"].max_ape == 0.0
    assert "energy" not in compared.overall


def test_points_without_time_or_prediction_are_kept_out_of_errors() -> None:
    first, second = predictions_over([100, 200])
    lost = {**measured(second, 1.0), "time_s": None, "peak_bytes": None, "status": "oom"}
    stranger = {**measured(first, 1.0), "sizes": {"b": 1, "n": 7, "d": 64, "h": 4}}

    compared = compare([measured(first, 1.1), lost, stranger], [first, second])

    assert compared.overall["time"].count == 1
    assert [p.measured["status"] for p in compared.points] == ["ok", "oom"]
    assert compared.unmatched == ("attention forward float32 b=1 n=7 d=64 h=4",)
    json.dumps(compared.to_json(), allow_nan=False)


def test_points_may_leave_out_defaults() -> None:
    (prediction,) = predictions_over([100])
    point = {**measured(prediction, 1.0), "sizes": {"b": 1, "n": 100, "d": 64}}

    assert compare([point], [prediction]).points[0].sizes["h"] == 4


@pytest.mark.parametrize(
    ("drift", "verdict"), [(0.0, "agrees"), (0.3, "differs")], ids=["same", "steeper"]
)
def test_exponent_of_measured_points_with_a_known_extra_slope(drift: float, verdict: str) -> None:
    values = [128, 256, 512, 1024, 2048, 4096]
    predictions = predictions_over(values)
    noise = random.Random(7)
    points = [
        measured(p, (v / 128) ** drift * math.exp(noise.gauss(0, 0.02)))
        for p, v in zip(predictions, values, strict=True)
    ]

    exponents = {(e.variable, e.metric): e for e in compare(points, predictions).exponents}

    time = exponents["n", "time"]
    assert time.predicted is not None and time.interval is not None
    assert time.measured - time.predicted == pytest.approx(drift, abs=0.04)
    assert time.interval[0] < time.measured < time.interval[1]
    assert time.verdict == verdict
    assert exponents["n", "peak_bytes"].measured == exponents["n", "peak_bytes"].predicted


def test_a_noisy_exponent_cannot_tell() -> None:
    values = [100, 200, 400]
    predictions = predictions_over(values)
    points = [measured(p, f) for p, f in zip(predictions, [1.0, 2.0, 0.7], strict=True)]

    (time,) = [e for e in compare(points, predictions).exponents if e.metric == "time"]

    assert time.verdict == "cannot tell"


def test_two_points_have_a_slope_but_no_interval() -> None:
    predictions = predictions_over([100, 200])
    compared = compare([measured(p, 1.0) for p in predictions], predictions)

    (time,) = [e for e in compared.exponents if e.metric == "time"]

    assert (time.interval, time.verdict) == (None, "cannot tell")


def test_crossover_is_where_the_measured_order_turns() -> None:
    # a: n² seconds; b: 1000 n seconds. They cross at n = 1000.
    machine = flat_machine(flop_per_s=1.0)

    def make(name: str, flop: Size) -> Derivation:
        groups = (group("aten.mm", "matmul", flop, 0, 1),)
        return derivation(name, groups, peak=n, state=0, steps=0, sizes=("n",))

    predictions = [
        predict(program, {"n": value}, machine)
        for program in (make("a", n * n), make("b", 1000 * n))
        for value in (250, 500, 2000, 4000)
    ]
    points = [measured(p, 1.0 if p.architecture == "a" else 1.1) for p in predictions]

    (crossing,) = compare(points, predictions).crossovers

    assert crossing.predicted == pytest.approx(1000)
    assert crossing.measured == pytest.approx(1100)
    assert crossing.verdict == "agrees"


def test_an_order_that_never_turns_in_either_agrees() -> None:
    predictions = [*predictions_over([64, 128]), *predictions_over([64, 128], recurrence())]

    (crossing,) = compare([measured(p, 1.0) for p in predictions], predictions).crossovers

    assert (crossing.predicted, crossing.measured, crossing.verdict) == (None, None, "agrees")


def test_slope_interval_covers_the_truth_as_often_as_it_says() -> None:
    noise = random.Random(11)
    x = [math.log(v) for v in (128, 256, 512, 1024, 2048)]
    covered = 0
    for _trial in range(400):
        slope = fit_slope(x, [1.7 * a + noise.gauss(0, 0.1) for a in x], [1.0] * len(x))
        covered += abs(slope.value - 1.7) <= slope.half_width
    assert 0.92 <= covered / 400 <= 0.98


def test_log_crossing() -> None:
    assert log_crossing([1.0, 100.0], [0.1, 10.0]) == pytest.approx(10.0)
    assert log_crossing([1.0, 100.0], [2.0, 3.0]) is None
