"""Exponents and crossovers from process medians of known laws: coverage and verdicts."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest

from costlab.algebra import Size
from costlab.comparison.api import compare
from costlab.comparison.record import CrossoverCheck, Exponent
from costlab.comparison.statistics import pooled_noise, slope_half_width
from costlab.formulas.record import Derivation
from costlab.measurement.statistics import median
from costlab.prediction.api import predict
from costlab.prediction.record import Prediction
from tests.comparison.points import measured, predictions_over
from tests.prediction.machines import flat_machine
from tests.prediction.programs import derivation, group, n

TRIALS = 100


def sampled(prediction: Prediction, factor: float, samples: Sequence[float]) -> dict[str, Any]:
    """A point with process medians ``factor`` times those of the prediction's time."""
    level = prediction.time_s * factor
    times = [level * value for value in samples]
    return {**measured(prediction, factor), "time_s": median(times), "samples": times}


def time_exponent(points: list[dict[str, Any]], predictions: list[Prediction]) -> Exponent:
    (found,) = [e for e in compare(points, predictions).exponents if e.metric == "time"]
    return found


@pytest.mark.parametrize(("sizes", "processes"), [((128, 512), 5), ((128, 256, 512, 1024), 3)])
def test_interval_covers_the_slope_of_the_true_times(
    sizes: tuple[int, ...], processes: int
) -> None:
    noise = random.Random(31)
    predictions = predictions_over(list(sizes))
    covered = 0
    for _trial in range(TRIALS):
        points = [
            sampled(p, 1.0, [math.exp(noise.gauss(0, 0.05)) for _ in range(processes)])
            for p in predictions
        ]
        found = time_exponent(points, predictions)
        assert found.interval is not None and found.predicted is not None
        covered += found.interval[0] <= found.predicted <= found.interval[1]
    assert covered >= 0.92 * TRIALS


@pytest.mark.parametrize(
    ("extra", "verdict"), [(0.0, "agrees"), (0.1, "agrees"), (0.2, "differs"), (-0.2, "differs")]
)
def test_verdict_of_two_sizes_is_against_the_predicted_time(extra: float, verdict: str) -> None:
    predictions = predictions_over([128, 512])
    quiet = [0.999, 1.0, 1.001, 1.0, 1.0]
    points = [
        sampled(p, (value / 128) ** extra, quiet)
        for p, value in zip(predictions, (128, 512), strict=True)
    ]

    found = time_exponent(points, predictions)

    assert found.predicted is not None
    assert found.measured - found.predicted == pytest.approx(extra, abs=0.01)
    assert found.verdict == verdict


@pytest.mark.parametrize(("sigma", "known"), [(0.02, True), (0.3, False)], ids=["quiet", "noisy"])
def test_cannot_tell_is_an_interval_wider_than_0_3_and_names_the_noise(
    sigma: float, known: bool
) -> None:
    noise = random.Random(5)
    predictions = predictions_over([128, 256])
    points = [
        sampled(p, 1.0, [math.exp(noise.gauss(0, sigma)) for _ in range(5)]) for p in predictions
    ]

    found = time_exponent(points, predictions)

    assert found.interval is not None
    assert (found.interval[1] - found.interval[0] <= 0.3) == known
    assert (found.verdict == "cannot tell") == (not known)
    assert found.noise == pytest.approx(sigma, rel=0.5)


@pytest.mark.parametrize(
    ("extra", "verdict"), [(0.0, "agrees"), (0.04, "agrees"), (0.1, "differs")]
)
def test_exponent_of_memory_is_exact(extra: float, verdict: str) -> None:
    values = [128, 256, 512]
    predictions = predictions_over(values)
    points = [
        measured(p, 1.0, peak=round(p.peak_bytes * (value / 128) ** extra))
        for p, value in zip(predictions, values, strict=True)
    ]

    (found,) = [e for e in compare(points, predictions).exponents if e.metric == "peak_bytes"]

    assert found.interval == (found.measured, found.measured)
    assert found.verdict == verdict


def test_noise_is_pooled_over_the_points() -> None:
    found = pooled_noise([[math.exp(v) for v in (0.0, 0.2)], [math.exp(v) for v in (1.0, 1.1)]])

    assert found is not None
    assert found.deviation == pytest.approx(math.sqrt((0.02 + 0.005) / 2))
    assert (found.counts, found.freedom) == ((2, 2), 2)
    assert pooled_noise([[1.0, 1.1], [1.0]]) is None
    # Student's t for 2 degrees of freedom is 4.303; both medians are 0.5 from the middle.
    expected = 4.303 * found.deviation * math.sqrt(math.pi / 2)
    assert slope_half_width([0.0, 1.0], [1.0, 1.0], found) == pytest.approx(expected, rel=1e-3)


def crossing(
    factors: Sequence[float],
    spread: float,
    values: Sequence[int] = (250, 500, 2000, 4000),
    processes: int = 5,
) -> CrossoverCheck:
    """a takes n² s, b 1000 n s, so a is overtaken at 1000; a is measured ``factors`` slower."""
    machine = flat_machine(flop_per_s=1.0)

    def make(name: str, flop: Size) -> Derivation:
        groups = (group("aten.mm", "matmul", flop, 0, 1),)
        return derivation(name, groups, peak=n, state=0, steps=0, sizes=("n",))

    samples = [1 + spread * step for step in (0, 2, -2, 1, -1)][:processes]
    a = [predict(make("a", n * n), {"n": value}, machine) for value in values]
    b = [predict(make("b", 1000 * n), {"n": value}, machine) for value in values]
    points = [sampled(p, f, samples) for p, f in zip(a, factors, strict=True)]
    points += [sampled(p, 1.0, samples) for p in b]
    (found,) = compare(points, [*a, *b]).crossovers
    return found


def test_measured_crossover_has_an_interval() -> None:
    found = crossing([1.0] * 4, 0.02)

    assert found.predicted == pytest.approx(1000)
    assert found.interval is not None and found.measured is not None
    assert found.interval[0] < found.measured < found.interval[1]
    assert found.verdict == "agrees"


def test_a_crossover_elsewhere_differs() -> None:
    found = crossing([2.5] * 4, 0.005)

    assert found.measured == pytest.approx(400)
    assert found.verdict == "differs"


def test_a_wide_interval_that_holds_the_prediction_agrees() -> None:
    assert crossing([1.5] * 4, 0.2).verdict == "agrees"


def test_an_order_that_noise_alone_turns_cannot_tell() -> None:
    """Predicted to turn at 1000, measured a hair below the tie at every size."""
    found = crossing([0.5, 0.5, 0.49, 0.24], 0.2)

    assert found.predicted is not None and found.measured is None
    assert found.verdict == "cannot tell"


def test_one_process_a_side_cannot_contradict_a_prediction() -> None:
    found = crossing([2.5] * 4, 0.005, processes=1)

    assert found.measured == pytest.approx(400)
    assert (found.interval, found.verdict) == (None, "cannot tell")
