"""Statistics against values worked out by hand."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from costlab.measurement.statistics import (
    Interval,
    drift,
    halves_agree,
    log_deviation,
    median,
    quantile,
    relative_iqr,
    relative_width,
    repeat_coverage,
    repeat_interval,
)


def test_median_of_odd_and_even_counts() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 3.0, 2.0]) == 2.5


def test_quantile_interpolates_between_order_statistics() -> None:
    assert quantile([10.0, 20.0, 30.0, 40.0, 50.0], 0.25) == 20.0
    assert quantile([0.0, 1.0], 0.3) == pytest.approx(0.3)


def test_quantile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


def test_relative_iqr() -> None:
    assert relative_iqr([10.0, 20.0, 30.0, 40.0, 50.0]) == pytest.approx((40 - 20) / 30)


@pytest.mark.parametrize(
    ("count", "rank", "coverage"),
    [
        (3, 1, 1 - 2 * 4 / 20),  # of the 20 orders of two threes, 4 begin with two of the second
        (5, 1, 1 - 2 * 21 / 252),
        (9, 1, 1 - 2 * 715 / 48620),
    ],
)
def test_repeat_coverage_counts_orders_of_two_samples(
    count: int, rank: int, coverage: float
) -> None:
    assert repeat_coverage(count, rank) == pytest.approx(coverage)


@pytest.mark.parametrize("count", [3, 5, 8, 9, 12, 20])
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("normal", 0.94),
        # A process is slow or quick for good. One time in four, three are all of one kind, and
        # nothing in them shows that there is another.
        ("two_states", 0.85),
        ("exponential_tail", 0.90),
    ],
)
def test_the_interval_holds_the_median_of_a_second_study(
    count: int, name: str, least: float
) -> None:
    """A process has an offset of its own that no number of samples within it would show."""
    generator = random.Random(count)
    draw = {
        "normal": lambda: math.exp(generator.gauss(0.0, 0.05)),
        "two_states": lambda: generator.choice([1.0, 1.3]) * math.exp(generator.gauss(0.0, 0.03)),
        "exponential_tail": lambda: 1.0 + generator.expovariate(10.0),
    }[name]
    trials = 3000
    held = 0
    for _ in range(trials):
        interval = repeat_interval([draw() for _ in range(count)])
        held += interval.low <= median([draw() for _ in range(count)]) <= interval.high

    assert held / trials >= least


def test_offsets_of_processes_are_in_the_interval_though_each_process_is_quiet() -> None:
    """A fake timer: 100 samples within 0.1 % in each process, processes 10 % apart."""
    generator = random.Random(3)
    trials, covered = 400, 0
    for _ in range(trials):
        medians = []
        for _process in range(7):
            offset = generator.gauss(1.0, 0.1)
            medians.append(median([offset + generator.gauss(0, 1e-3) for _ in range(100)]))
        interval = repeat_interval(medians)
        assert relative_iqr([medians[0] + generator.gauss(0, 1e-3) for _ in range(100)]) < 0.005
        covered += interval.low <= 1.0 <= interval.high

    assert covered / trials >= 0.95


def test_many_values_need_no_distribution() -> None:
    values = [float(value) for value in range(1, 21)]

    interval = repeat_interval(values)

    assert (interval.low, interval.high) == (4.0, 17.0)
    assert interval.coverage >= 0.95 > repeat_coverage(20, 5)


def test_few_values_reach_beyond_their_extremes_in_ratio() -> None:
    interval = repeat_interval([1.0, 1.1, 1.21])

    assert interval.low * interval.high == pytest.approx(1.1**2)
    assert interval.high == pytest.approx(1.1 * math.exp(3.844 * math.log(1.1)))


def test_one_value_is_its_own_interval_with_no_coverage() -> None:
    assert repeat_interval([2.0]) == Interval(2.0, 2.0, 0.0)


def test_log_deviation_is_the_sample_standard_deviation_of_logarithms() -> None:
    logs = [0.1, 0.4, -0.3, 0.2]

    assert log_deviation([math.exp(one) for one in logs]) == pytest.approx(statistics.stdev(logs))


def test_relative_width() -> None:
    assert relative_width(Interval(90.0, 110.0, 0.9), 100.0) == pytest.approx(0.1)


def test_drift_compares_halves() -> None:
    assert drift([1.0, 1.0, 1.5, 1.5]) == pytest.approx(0.5)
    assert drift([1.0, 9.0]) == 0.0


def test_warm_up_settles_only_with_enough_agreeing_values() -> None:
    assert not halves_agree([1.0] * 5, 0.05)
    assert halves_agree([1.0] * 6, 0.05)
    assert not halves_agree([2.0, 2.0, 2.0, 1.0, 1.0, 1.0], 0.05)
