"""Orders of growth against brute force over regimes, and the orders that papers state."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

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
        ("n*m + n*d", (Condition("<=", "m", "n"), Condition("divides", "n", "m")), "m**2 + m*d"),
        ("n*d + w", (Condition("<=", "w", "c"), Condition("<=", "c", "n")), "n*d"),
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
domains = st.sampled_from(
    ["", "w <= n", "d divides n, w divides d", "n >= w, d <= w", "w divides n, w <= d"]
).map(lambda texts: tuple(condition(text) for text in texts.split(", ") if text))


def _monomial(row: tuple[int, ...]) -> Expr:
    n, d, w = (symbol(name) for name in VARIABLES)
    return as_expr(n ** row[0] * d ** row[1] * w ** row[2]) * _logs(row)


def _logs(row: tuple[int, ...]) -> Expr:
    return parse("log(n, 2)") ** row[3] * parse("log(d, 2)") ** row[4]


def _regimes(domain: tuple[Condition, ...], most: int = 16) -> np.ndarray:
    """All directions in the cone; up to 16 is enough for powers up to 2 of three symbols."""
    grid = np.array(list(itertools.product(range(most + 1), repeat=3)))
    place = {name: i for i, name in enumerate(VARIABLES)}
    for rule in domain:
        left, right = grid[:, place[rule.left]], grid[:, place[str(rule.right)]]
        grid = grid[left >= right] if rule.kind == ">=" else grid[left <= right]
    return grid


def _with_logs(regimes: np.ndarray) -> np.ndarray:
    """Regimes in which log(n) and log(d) stay below a third of n and d."""
    logs = np.array(list(itertools.product(range(3), repeat=2)))
    grid = np.hstack([np.repeat(regimes, len(logs), axis=0), np.tile(logs, (len(regimes), 1))])
    chosen: np.ndarray = grid[(3 * grid[:, 3] <= grid[:, 0]) & (3 * grid[:, 4] <= grid[:, 1])]
    return chosen


def _alone_at_the_top(rows: list[tuple[int, ...]], regimes: np.ndarray) -> set[int]:
    """Which monomials strictly exceed the others in one of the regimes."""
    growth = regimes @ np.array(rows).T
    alone = (growth == growth.max(axis=1, keepdims=True)).sum(axis=1) == 1
    return {int(i) for i in growth[alone].argmax(axis=1)} if alone.any() else set()


def _sum(rows: Iterable[tuple[int, ...]]) -> Expr:
    return sum((_monomial(row) for row in rows), start=as_expr(0))


@settings(max_examples=50)
@given(growing, domains)
def test_order_is_what_brute_force_over_regimes_finds(
    rows: list[tuple[int, ...]], domain: tuple[Condition, ...]
) -> None:
    rows = list(dict.fromkeys((*row[:3], 0, 0) for row in rows))
    leading = _alone_at_the_top([row[:3] for row in rows], _regimes(domain))

    assert order(3 * _sum(rows), domain) == _sum(rows[i] for i in leading)


@settings(max_examples=50)
@given(growing, domains)
def test_order_with_logarithms_misses_nothing(
    rows: list[tuple[int, ...]], domain: tuple[Condition, ...]
) -> None:
    """All that a search finds is there, and in every regime one of it is the greatest."""
    regimes = _with_logs(_regimes(domain, most=7))
    derived = order(3 * _sum(rows), domain)
    kept = [row for row in rows if set(_monomial(row).terms) <= set(derived.terms)]

    assert _sum(kept) == derived
    assert {rows[i] for i in _alone_at_the_top(rows, regimes)} <= set(kept)
    everything, leading = regimes @ np.array(rows).T, regimes @ np.array(kept).T
    assert (everything.max(axis=1) == leading.max(axis=1)).all()


@settings(max_examples=30)
@given(growing, growing, domains)
def test_the_order_of_a_maximum_is_that_of_the_sum(
    rows: list[tuple[int, ...]], others: list[tuple[int, ...]], domain: tuple[Condition, ...]
) -> None:
    first, second = _sum(rows), 2 * _sum(others)

    assert order(maximum(first, second), domain) == order(first + second, domain)


@settings(max_examples=40)
@given(growing)
def test_order_in_is_the_greatest_power(rows: list[tuple[int, ...]]) -> None:
    expr = _sum(rows)

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
        ("4*b*n*m*d", claim("n**2", ("n",)), (Condition("==", "m", "n"),), True),
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
