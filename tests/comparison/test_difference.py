"""Verdicts on samples of known laws: false alarms, power, drift, and the exact rank counts."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable

import pytest

from costlab.comparison.difference import verdict

# Time of the process number `place`, of a program that takes 1.
Law = Callable[[random.Random, int], float]
TRIALS = 300
DIFFERENT = ("faster", "slower")


def lognormal(sigma: float) -> Law:
    return lambda noise, _place: math.exp(noise.gauss(0, sigma))


def heavy_tail(scale: float) -> Law:
    """Student's t with two degrees of freedom: a variance without bound."""
    return lambda noise, _place: math.exp(
        scale * noise.gauss(0, 1) / math.sqrt(noise.gammavariate(1, 1))
    )


def disturbed(noise: random.Random, _place: int) -> float:
    """Every seventh process shares its CPU and takes 40 % longer."""
    return math.exp(noise.gauss(0, 0.01)) * (1.4 if noise.random() < 1 / 7 else 1.0)


def slowing(share: float, length: int) -> Law:
    """The machine grows slower by ``share`` in ``length`` processes."""
    return lambda noise, place: math.exp(noise.gauss(0, 0.02) + share * place / length)


def count(law: Law, processes: int, factor: float = 1.0, start: int = 0) -> Counter[str]:
    """Verdicts over trials; the second side is measured after ``start`` processes."""
    noise = random.Random(f"{processes} {factor}")
    return Counter(
        verdict(
            [law(noise, place) for place in range(processes)],
            [factor * law(noise, start + place) for place in range(processes)],
        ).verdict
        for _trial in range(TRIALS)
    )


@pytest.mark.parametrize("processes", [5, 8, 20])
@pytest.mark.parametrize(
    "law",
    [lognormal(0.002), lognormal(0.02), lognormal(0.2), heavy_tail(0.01), disturbed],
    ids=["quiet", "2 %", "20 %", "heavy tail", "disturbed"],
)
def test_equal_programs_are_rarely_called_different(law: Law, processes: int) -> None:
    found = count(law, processes)

    assert sum(found[name] for name in DIFFERENT) <= 0.05 * TRIALS


@pytest.mark.parametrize(
    ("law", "processes"),
    [(lognormal(0.01), 5), (lognormal(0.02), 12), (heavy_tail(0.01), 12), (disturbed, 20)],
    ids=["1 % and 5", "2 % and 12", "heavy tail and 12", "disturbed and 20"],
)
@pytest.mark.parametrize(("factor", "expected"), [(1.05, "slower"), (1 / 1.05, "faster")])
def test_five_percent_are_found_where_noise_allows(
    law: Law, processes: int, factor: float, expected: str
) -> None:
    found = count(law, processes, factor)

    assert found[expected] >= 0.9 * TRIALS
    assert sum(found[name] for name in DIFFERENT) == found[expected]


def test_much_noise_cannot_tell_and_little_says_same() -> None:
    assert count(lognormal(0.2), 8)["cannot tell"] >= 0.9 * TRIALS
    assert count(lognormal(0.01), 8)["same"] >= 0.9 * TRIALS


@pytest.mark.parametrize("processes", [5, 8, 20])
def test_a_machine_that_grows_slower_is_no_slower_program(processes: int) -> None:
    found = count(slowing(0.1, processes), processes, start=processes)

    assert sum(found[name] for name in DIFFERENT) <= 0.05 * TRIALS


def test_three_processes_can_never_tell() -> None:
    found = verdict([1.0, 1.01, 1.02], [2.0, 2.01, 2.02])

    assert (found.verdict, found.reason) == ("cannot tell", "too few processes")
    assert found.ratio == pytest.approx(2.0, rel=0.02)


def test_the_p_value_is_the_exact_one() -> None:
    """Of all ways to deal nine ranks, those at least as uneven, counted one by one."""
    a, b = [3.0, 1.0, 7.0, 2.0, 4.0], [8.0, 5.0, 9.0, 6.0]
    against = sum(late <= early for late in b for early in a)
    deals = [
        sum(late < early for late in set(range(9)) - set(early_ranks) for early in early_ranks)
        for early_ranks in itertools.combinations(range(9), 5)
    ]

    expected = 2 * sum(deal <= against for deal in deals) / len(deals)
    assert verdict(a, b).p_value == pytest.approx(expected)


def test_interval_and_p_value_speak_alike() -> None:
    noise = random.Random(5)
    for _trial in range(200):
        a = [math.exp(noise.gauss(0, 0.03)) for _ in range(6)]
        b = [math.exp(noise.gauss(0.05, 0.03)) for _ in range(7)]
        found = verdict(a, b)
        assert (found.interval[0] > 1 or found.interval[1] < 1) == (found.p_value <= 0.02)


def test_interval_of_the_ratio_covers_it() -> None:
    noise = random.Random(9)
    covered = 0
    for _trial in range(TRIALS):
        a = [math.exp(noise.gauss(0, 0.03)) for _ in range(10)]
        b = [1.2 * math.exp(noise.gauss(0, 0.03)) for _ in range(10)]
        low, high = verdict(a, b).interval
        covered += low <= 1.2 <= high
    assert covered >= 0.96 * TRIALS


def test_swapping_the_sides_swaps_the_verdict() -> None:
    a, b = [1.0, 1.02, 0.99, 1.01, 1.005], [1.2, 1.19, 1.22, 1.21, 1.2]

    there, back = verdict(a, b), verdict(b, a)

    assert (there.verdict, back.verdict) == ("slower", "faster")
    assert there.ratio * back.ratio == pytest.approx(1.0)


def test_a_change_within_the_allowance_is_not_called() -> None:
    a, b = [1.0, 1.02, 0.99, 1.01, 1.005], [1.1, 1.09, 1.12, 1.11, 1.1]

    found = verdict(a, b, allowance=0.2)

    assert (found.verdict, found.reason) == ("cannot tell", "drift")


def test_a_change_of_half_a_percent_is_none() -> None:
    assert count(lognormal(0.0005), 8, factor=1.005)["same"] == TRIALS
