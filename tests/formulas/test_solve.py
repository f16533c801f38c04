"""Budgets and crossings against searches over every size."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlab.algebra import Expr, as_expr, symbol
from costlab.errors import AlgebraError, SizeError
from costlab.formulas.solve import Crossing, crossing, is_increasing, largest
from costlab.formulas.text import parse
from tests.formulas.expressions import polynomials

n = symbol("n")


@pytest.mark.parametrize(
    ("text", "others", "step"),
    [
        ("4*n**2 + 8*n*d", {"d": 37}, 1),
        ("4*n**2 + 8*n*d", {"d": 37}, 16),
        ("Max(84*d*n - 56*d, 3*n**2) + n*log(n, 2)", {"d": 5}, 1),
        ("w*ceiling(n/w)*d", {"d": 6, "w": 7}, 1),
        ("n*d/P + t", {"d": 64, "P": 0.125, "t": 3.5}, 1),
        ("Min(n, 50)*100", {}, 1),
        ("(n - 3)**2 + 9*n", {}, 1),
    ],
)
@pytest.mark.parametrize("budget", [1000, 54_321, 10**6])
def test_largest_is_what_a_search_finds(
    text: str, others: dict[str, float], step: int, budget: int
) -> None:
    formula = parse(text)
    fits = [
        size
        for size in range(step, 1001, step)
        if formula.evaluate({**others, "n": size}) <= budget
    ]

    found = largest(formula, "n", budget, others, high=1000, step=step)

    assert found == (fits[-1] if fits else None)


def test_largest_is_exact_at_any_size() -> None:
    """A budget of 2**100: beyond float64's integers."""
    budget = 2**100
    found = largest(3 * n**2 + n, "n", budget, {}, high=2**60)

    assert found is not None
    assert 3 * found**2 + found <= budget < 3 * (found + 1) ** 2 + (found + 1)


def test_nothing_fits_and_everything_fits() -> None:
    assert largest(5 * n, "n", 4, {}) is None
    assert largest(n, "n", 10**9, {}, high=512) == 512


@pytest.mark.parametrize("text", ["100 - n", "n + 100/n", "d/n", "Max(n, 90 - n)"])
def test_a_formula_that_falls_is_refused(text: str) -> None:
    with pytest.raises(AlgebraError, match="does not grow"):
        largest(parse(text), "n", 50, {"d": 3})


def test_a_range_without_an_allowed_size() -> None:
    with pytest.raises(SizeError, match="16"):
        largest(n, "n", 50, {}, low=3, high=15, step=16)


def test_one_term_overtakes_another() -> None:
    """In 24bnd² + 4bn²d the second term takes over at n = 6d."""
    linear, quadratic = parse("24*b*n*d**2"), parse("4*b*n**2*d")

    assert crossing(linear, quadratic, "n", {"b": 3, "d": 512}) == [Crossing(6 * 512, "g")]
    assert crossing(quadratic, linear, "n", {"b": 3, "d": 512}) == [Crossing(6 * 512, "f")]
    assert crossing(linear, quadratic, "n", {"b": 3, "d": 5}, step=7) == [Crossing(35, "g")]
    assert crossing(linear, linear, "n", {"b": 3, "d": 5}) == []


def _searched(f: Expr, g: Expr, last: int) -> list[Crossing]:
    """Every change of order by looking at every size."""
    signs = []
    for size in range(1, last + 1):
        value = (f - g).evaluate({"n": size})
        signs.append((size, (value > 0) - (value < 0)))
    found = []
    decided = [(i, sign) for i, (_, sign) in enumerate(signs) if sign]
    for (i, before), (j, after) in pairwise(decided):
        if before != after:
            at = next(signs[k][0] for k in range(i + 1, j + 1) if signs[k][1] != before)
            found.append(Crossing(at, "f" if after > 0 else "g"))
    return found


@settings(max_examples=40)
@given(st.lists(st.integers(1, 60), max_size=5), polynomials(("n",), lowest=-1))
def test_crossings_of_polynomials_are_all_found(roots: list[int], other: Expr) -> None:
    """Curves with several crossings, some a single size apart."""
    product = as_expr(1)
    for root in roots:
        product = product * (2 * n - 2 * root + 1)

    assert crossing(product + other, other, "n", {}, high=80) == _searched(product, as_expr(0), 80)
    assert crossing(product, other, "n", {}, high=80) == _searched(product, other, 80)


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("Max(n**2, 100*n)", "Max(50*n + 700, n*log(n, 2))"),
        ("7*ceiling(n/7)*40", "n**2"),
        ("Min(n, 64)*n", "40*n + 3"),
    ],
)
def test_crossings_with_functions(f: str, g: str) -> None:
    assert crossing(parse(f), parse(g), "n", {}, high=400) == _searched(parse(f), parse(g), 400)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n**2 - 5*n", False),
        ("n**2 - 3*n", True),
        ("n*ceiling(n/7)", True),
        ("n*floor(60/n)", False),
        ("Max(n, 7)*Min(n, 9) + log(n, 2)", True),
    ],
)
def test_is_increasing(text: str, expected: bool) -> None:
    assert is_increasing(parse(text), "n", 1, 10**6) is expected
