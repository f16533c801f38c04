"""Statistics against values worked out by hand."""

from __future__ import annotations

import random

import pytest

from costlab.measurement.statistics import (
    Interval,
    drift,
    halves_agree,
    median,
    median_interval,
    quantile,
    relative_iqr,
    relative_width,
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
        (3, 1, 0.75),  # 1 - 2 / 2**3
        (5, 1, 0.9375),  # 1 - 2 / 2**5
        (8, 1, 1 - 2 / 256),  # the second rank would cover 0.9297 only
        (9, 2, 1 - 2 * (1 + 9) / 512),
        (20, 6, 0.9586),  # the textbook's row for 20: ranks 6 and 15
    ],
)
def test_median_interval_uses_the_binomial_ranks(count: int, rank: int, coverage: float) -> None:
    values = [float(value) for value in range(1, count + 1)]
    random.Random(count).shuffle(values)

    interval = median_interval(values)

    assert (interval.low, interval.high) == (rank, count + 1 - rank)
    assert interval.coverage == pytest.approx(coverage, abs=5e-5)


def test_median_interval_covers_as_often_as_it_says() -> None:
    """Processes with an offset of their own: the interval of medians covers the true median."""
    generator = random.Random(5)
    trials = 2000
    covered = 0
    for _ in range(trials):
        interval = median_interval([generator.lognormvariate(0.0, 0.5) for _ in range(12)])
        covered += interval.low <= 1.0 <= interval.high
    expected = median_interval([float(value) for value in range(12)]).coverage

    assert covered / trials == pytest.approx(expected, abs=0.015)


def test_one_value_is_its_own_interval_with_no_coverage() -> None:
    assert median_interval([2.0]) == Interval(2.0, 2.0, 0.0)


def test_relative_width() -> None:
    assert relative_width(Interval(90.0, 110.0, 0.9), 100.0) == pytest.approx(0.1)


def test_drift_compares_halves() -> None:
    assert drift([1.0, 1.0, 1.5, 1.5]) == pytest.approx(0.5)
    assert drift([1.0, 9.0]) == 0.0


def test_warm_up_settles_only_with_enough_agreeing_values() -> None:
    assert not halves_agree([1.0] * 5, 0.05)
    assert halves_agree([1.0] * 6, 0.05)
    assert not halves_agree([2.0, 2.0, 2.0, 1.0, 1.0, 1.0], 0.05)
