"""Orders of growth against brute force over regimes, and the orders that papers state."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlab.algebra import Expr, as_expr, maximum, symbol
from costlab.arch.spec import Claim
from costlab.formulas.cone import direction
from costlab.formulas.order import agrees, comparable, order, order_in, order_in_expr
from costlab.formulas.record import Condition
from costlab.formulas.text import parse

WINDOW = (Condition("<=", "w", "n"),)
VARIABLES = ("n", "d", "w")
LOG_STEP = 1000  # how many log powers a power of a size is worth: more than there are


def condition(text: str) -> Condition:
    left, kind, right = text.split(" ", 2)
    return Condition(kind, left, int(right) if right.isdigit() else right)


@pytest.mark.parametrize(
    ("text", "domain", "expected"),
    [
        ("8*b*n*d**2 + 4*b*n**2*d", (), "b*n*d**2 + b*n**2*d"),
        ("24*b*d**2*n + 4*b*d*n*(2*w + 1) - 4*b*d*w*(w + 1)", WINDOW, "b*n*d**2 + b*n*d*w"),
        ("8*b*d**2*(6*n - 1)", (), "b*n*d**2"),
        ("n**2 + n*d + d**2", (), "n**2 + d**2"),
        (
            "Max(84*b*d*n - 56*b*d + 48*d**2 + 8, 52*b*d*n - 40*b*d + 80*d**2 + 8)",
            (),
            "b*n*d + d**2",
        ),
        ("3*n*d*log(n, 2) + 8*n*d + n + 7", (), "n*d*log(n, 2)"),
        ("n*log(n, 2)**3 + n**2", (), "n**2"),
        ("n*d*log(2*n/w, 2) + n*w*d", WINDOW, "n*d*log(n/w, 2) + n*d*w"),
        ("n*log(n**2, 2) + n*log(3*n, 2)", (), "n*log(n, 2)"),
        ("w*ceiling(n/w)*d", WINDOW, "n*d"),
        ("w*ceiling(n/w)*d", (), "n*d + w*d"),
        ("d*floor(n/w)", (), "d*n/w"),
        ("b*d*Min(n, w)", WINDOW, "b*d*w"),
        ("b*d*Min(n, 512) + Min(1, Max(0, n - 3))", (), "b*d"),
        ("n*d/ceiling(n/w)", WINDOW, "d*w"),
        ("n*d + h*n", (Condition("divides", "h", "d"),), "n*d"),
        ("n*d + h*n", (Condition(">=", "d", "h"),), "n*d"),
        ("n*m + n*d", (Condition("==", "m", "n"),), "n**2 + n*d"),
        ("n*d + b*d", (Condition("==", "n", 1),), "b*d"),
        ("17", (), "1"),
        ("0", (), "0"),
    ],
)
def test_order(text: str, domain: tuple[Condition, ...], expected: str) -> None:
    assert order(parse(text), domain) == parse(expected)


def test_symbols_that_do_not_grow() -> None:
    time = parse("Max(8*b*n*d**2/P_matmul, 4*b*n*d/W) + 12*t_launch")

    assert order(time, constants={"P_matmul", "W", "t_launch"}) == parse("b*n*d**2")
    assert order(parse("n*d*w + n*log(w, 2)*d"), constants={"w"}) == parse("n*d")


powers = st.tuples(*[st.integers(0, 2)] * 3, st.integers(0, 1), st.integers(0, 1))
growing = st.lists(powers, min_size=1, max_size=6, unique=True)
domains = st.lists(
    st.sampled_from(["w <= n", "d divides n", "n >= w", "w divides d", "d <= w"]), max_size=2
).map(lambda texts: tuple(condition(text) for text in texts))


def _monomial(row: tuple[int, ...]) -> Expr:
    n, d, w = (symbol(name) for name in VARIABLES)
    return as_expr(n ** row[0] * d ** row[1] * w ** row[2]) * _logs(row)


def _logs(row: tuple[int, ...]) -> Expr:
    return parse("log(n, 2)") ** row[3] * parse("log(d, 2)") ** row[4]


def _regimes(domain: tuple[Condition, ...]) -> np.ndarray:
    """All directions up to 16 in the cone; enough for powers up to 2 of three symbols."""
    grid = np.array(list(itertools.product(range(17), repeat=3)))
    place = {name: i for i, name in enumerate(VARIABLES)}
    for rule in domain:
        left, right = grid[:, place[rule.left]], grid[:, place[str(rule.right)]]
        grid = grid[left >= right] if rule.kind == ">=" else grid[left <= right]
    return grid


def _growth(rows: list[tuple[int, ...]], regimes: np.ndarray) -> np.ndarray:
    """How fast each monomial grows in each regime, logarithms below every power."""
    exponents = np.array([row[:3] for row in rows])
    logs = np.array([row[3:] for row in rows])
    growth: np.ndarray = LOG_STEP * regimes @ exponents.T + (regimes[:, :2] > 0) @ logs.T
    return growth


def _bounds(large: tuple[int, ...], small: tuple[int, ...]) -> bool:
    return large != small and all(x >= y for x, y in zip(large, small, strict=True))


@settings(max_examples=60)
@given(growing, domains)
def test_order_is_what_brute_force_over_regimes_finds(
    rows: list[tuple[int, ...]], domain: tuple[Condition, ...]
) -> None:
    rows = [row for row in rows if not any(_bounds(other, row) for other in rows)]
    growth = _growth(rows, _regimes(domain))
    best = growth.max(axis=1, keepdims=True)
    alone = (growth == best).sum(axis=1) == 1
    leading = {int(i) for i in growth[alone].argmax(axis=1)} if alone.any() else set()
    expr = sum((_monomial(row) * 3 for row in rows), start=as_expr(0))

    assert order(expr, domain) == sum((_monomial(rows[i]) for i in leading), start=as_expr(0))


@settings(max_examples=30)
@given(growing, growing, domains)
def test_the_order_of_a_maximum_is_that_of_the_sum(
    rows: list[tuple[int, ...]], others: list[tuple[int, ...]], domain: tuple[Condition, ...]
) -> None:
    first = sum((_monomial(row) for row in rows), start=as_expr(0))
    second = sum((2 * _monomial(row) for row in others), start=as_expr(0))

    assert order(maximum(first, second), domain) == order(first + second, domain)


@settings(max_examples=40)
@given(growing)
def test_order_in_is_the_greatest_power(rows: list[tuple[int, ...]]) -> None:
    expr = sum((_monomial(row) for row in rows), start=as_expr(0))

    assert order_in(expr, "n") == max((row[0], row[3]) for row in rows)
    assert order_in(order(expr), "n") == order_in(expr, "n")
    assert order_in(expr, "w") == max((row[2], 0) for row in rows)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("8*b*n*d**2 + 4*b*n**2*d", "n", "n**2"),
        ("8*b*n*d**2 + 4*b*n**2*d", "d", "d**2"),
        ("n*log(n, 2)*d + 5*n", "n", "n*log(n, 2)"),
        ("Max(n*d, d**3)", "n", "n"),
        ("d*ceiling(n/w)", "w", "1"),
        ("w*Min(n, 512)", "n", "1"),
        ("n*floor(d/h)", "h", "1/h"),
        ("n - n**2", "n", "n"),
        ("7", "n", "1"),
    ],
)
def test_order_in_one_symbol(text: str, name: str, expected: str) -> None:
    assert order_in_expr(parse(text), name) == parse(expected)


def claim(text: str, variables: tuple[str, ...] = (), conditions: tuple[str, ...] = ()) -> Claim:
    return Claim("flop", "core", text, "a paper", variables, conditions)


ATTENTION = "8*b*n*d**2 + 4*b*n**2*d"


@pytest.mark.parametrize(
    ("derived", "stated", "domain", "expected"),
    [
        ("4*b*n**2*d + 5*b*h*n**2", claim("b*n**2*d"), (Condition("divides", "h", "d"),), True),
        (ATTENTION, claim("b*n**2*d"), (), False),
        (ATTENTION, claim("n**2", ("n",)), (), True),
        (ATTENTION, claim("n", ("n",)), (), False),
        ("4*b*n**2*d", claim("n**2*d", ("n", "d")), (), True),
        (ATTENTION, claim("n**2*d", ("n", "d")), (), False),
        ("4*b*n*d*(2*w + 1)", claim("b*n*d*w"), WINDOW, True),
        ("4*b*n*d*(2*w + 1)", claim("b*n*d", (), ("w fixed",)), WINDOW, True),
        ("4*b*n*d*(2*w + 1)", claim("b*n*d"), WINDOW, False),
        ("n*d*log(n, 2) + n*d*c", claim("n*log(n, 2)", ("n",), ("bucket size fixed",)), (), True),
        ("7*n + 2", claim("n", ("n",)), (), True),
    ],
)
def test_claims(derived: str, stated: Claim, domain: tuple[Condition, ...], expected: bool) -> None:
    assert agrees(parse(derived), stated, domain) is expected
    assert agrees(order(parse(derived), domain), stated, domain) is expected


def test_a_claim_and_its_formula_are_compared_in_the_claims_terms() -> None:
    ours, theirs = comparable(parse(ATTENTION), claim("n**2*d", ("n", "d")))

    assert (str(ours), str(theirs)) == ("d*n**2 + d**2*n", "d*n**2")


rows = st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=5)


@settings(max_examples=60)
@given(rows, rows)
def test_direction_agrees_with_a_search(
    positive: list[tuple[int, ...]], nonnegative: list[tuple[int, ...]]
) -> None:
    """A direction that is found satisfies every row; where none is, a search finds none."""
    found = direction(positive, nonnegative)
    searched = np.array(list(itertools.product(range(20), repeat=3)))
    if found is None:
        ok = (searched @ np.array(positive).T > 0).all(axis=1)
        ok &= (searched @ np.array(nonnegative).T >= 0).all(axis=1)
        assert not ok.any()
    else:
        assert min(found) >= 0
        assert all(np.dot(row, found) > 0 for row in positive)
        assert all(np.dot(row, found) >= 0 for row in nonnegative)
