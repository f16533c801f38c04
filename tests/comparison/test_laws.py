"""Known laws with noise: model, coverage of the exponent's interval, regime change, undecided."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from costlab.comparison.laws import Law, fit_law

SIZES = [64, 128, 256, 512, 1024, 2048]
TRIALS = 25
TURN = 300  # size at which the overhead of `overhead_and` equals the power


def power(exponent: float) -> Callable[[float], float]:
    return lambda n: 3e-9 * n**exponent


def overhead_and(exponent: float) -> Callable[[float], float]:
    return lambda n: 3e-9 * (TURN**exponent + n**exponent)


def linear_and(exponent: float) -> Callable[[float], float]:
    return lambda n: 3e-9 * (TURN ** (exponent - 1) * n + n**exponent)


def fits(value: Callable[[float], float], sigma: float) -> list[Law]:
    noise = random.Random(17)
    found = []
    for _trial in range(TRIALS):
        law = fit_law(SIZES, [value(n) * math.exp(noise.gauss(0, sigma)) for n in SIZES])
        assert law is not None
        found.append(law)
    return found


@pytest.mark.parametrize("sigma", [0.005, 0.03], ids=["0.5 %", "3 %"])
@pytest.mark.parametrize(
    ("value", "exponent"),
    [
        (power(1), 1),
        (power(1.5), 1.5),
        (power(2), 2),
        (overhead_and(1), 1),
        (overhead_and(2), 2),
        (linear_and(2), 2),
    ],
    ids=["n", "n^1.5", "n^2", "overhead n", "overhead n^2", "linear n^2"],
)
def test_interval_covers_the_exponent(
    value: Callable[[float], float], exponent: float, sigma: float
) -> None:
    found = fits(value, sigma)

    covered = sum(
        law.interval is not None and law.interval[0] - 0.01 <= exponent <= law.interval[1] + 0.01
        for law in found
    )
    assert covered >= 0.9 * TRIALS


def test_constant_time_is_not_taken_for_a_logarithm() -> None:
    found = fits(lambda _n: 2e-5, 0.05)

    assert sum(law.model == "constant" and law.decided for law in found) >= 0.9 * TRIALS
    assert all(law.orders in (("1",), ()) for law in found if law.model == "constant")


def test_a_logarithm_in_the_law_is_told_from_the_bare_power_where_noise_allows() -> None:
    found = fits(lambda n: 1e-8 * n * math.log(n), 0.005)

    assert sum(law.orders == ("n log n",) for law in found) >= 0.9 * TRIALS


def test_much_noise_leaves_the_law_undecided() -> None:
    found = fits(overhead_and(1), 0.1)

    assert sum(law.decided for law in found) <= 0.1 * TRIALS


@pytest.mark.parametrize("exponent", [1, 2])
def test_regime_change_is_where_the_power_outweighs_the_overhead(exponent: int) -> None:
    for law in fits(overhead_and(exponent), 0.005):
        assert law.model == "overhead and power"
        assert law.turn == pytest.approx(TURN, rel=0.1)


def test_attention_is_linear_before_it_is_quadratic() -> None:
    """Projections rule below a length, scores above: no single power, but n^2 in the end."""
    for law in fits(linear_and(2), 0.003):
        assert law.model == "linear and power"
        assert law.turn == pytest.approx(TURN, rel=0.15)
        assert "n^2" in law.orders


def test_without_overhead_there_is_no_regime_change() -> None:
    assert sum(law.turn is None for law in fits(power(2), 0.02)) >= 0.9 * TRIALS


def test_exact_values_give_the_exact_law() -> None:
    law = fit_law(SIZES, [7.0 * n**2 for n in SIZES])

    assert law is not None
    assert (law.model, law.orders, law.decided) == ("power", ("n^2",), True)
    assert law.exponent == pytest.approx(2, abs=0.01)


def test_few_sizes_have_no_law() -> None:
    assert fit_law([1, 2, 4, 8, 16], [1.0] * 5) is None
    assert fit_law([2, 4, 8, 16], [1.0] * 4) is None
