"""Exact fits of integers by polynomials of the sizes: found where there is one, else refused."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlab.algebra import Expr, as_expr, ceil_div, product, symbol
from costlab.derivation.fit import Fitter
from costlab.derivation.sizes import SizeModel

NAMES = ("b", "n", "h", "k")
MODEL = SizeModel(("b", "n", "d", "h"), (("h", "d"),))
TRACES = 10


def points(seed: int, count: int = TRACES) -> list[dict[str, int]]:
    """Sizes as a derivation draws them."""
    rng = random.Random(seed)
    return [MODEL.sample(rng) for _ in range(count)]


POINTS = points(1)
ELSEWHERE = points(2, 20)
FITTER = Fitter(POINTS, NAMES)


def monomials(degree: int, power: int) -> st.SearchStrategy[Expr]:
    """Products of sizes up to a degree, each size up to a power."""
    rows = [
        as_expr(product(symbol(name) ** p for name, p in zip(NAMES, powers, strict=True)))
        for powers in itertools.product(range(power + 1), repeat=len(NAMES))
        if sum(powers) <= degree
    ]
    return st.sampled_from(rows)


def values(expr: Expr, at: list[dict[str, int]]) -> list[int]:
    found = [expr.evaluate(p) for p in at]
    assert all(isinstance(v, int) for v in found)
    return [int(v) for v in found]


@settings(max_examples=60)
@given(monomials(6, 3), st.integers(1, 10**6))
def test_one_term(mono: Expr, factor: int) -> None:
    expr = mono * factor
    assert FITTER.fit(values(expr, POINTS)) == expr or expr.is_constant


coefficients = st.integers(-40, 40).filter(bool)


@settings(max_examples=60)
@given(st.tuples(monomials(3, 2), coefficients), st.tuples(monomials(3, 2), coefficients))
def test_two_terms(first: tuple[Expr, int], second: tuple[Expr, int]) -> None:
    expr = first[0] * first[1] + second[0] * second[1]
    found = FITTER.fit(values(expr, POINTS))
    assert found == expr
    assert values(as_expr(found), ELSEWHERE) == values(expr, ELSEWHERE)


@settings(max_examples=60)
@given(st.lists(st.tuples(monomials(2, 2), coefficients), min_size=3, max_size=3))
def test_three_terms(terms: list[tuple[Expr, int]]) -> None:
    expr = sum((mono * factor for mono, factor in terms), start=as_expr(0))
    assert FITTER.fit(values(expr, POINTS)) == expr


@pytest.mark.parametrize(("over", "under"), [("n", 2), ("h", 2), ("k", 2)])
def test_halves(over: str, under: int) -> None:
    """Sizes that are even at every point may be halved."""
    at = [{**p, "n": 2 * p["n"]} for p in POINTS]
    expr = symbol("b") * symbol(over) * Fraction(1, under)
    assert Fitter(at, NAMES).fit(values(expr, at)) == expr


def test_triangles() -> None:
    n = symbol("n")
    expr = n * (n + 1) * Fraction(1, 2)
    assert FITTER.fit(values(expr, POINTS)) == expr


def test_what_is_the_same_everywhere_is_a_number() -> None:
    assert FITTER.fit([7] * TRACES) == 7
    assert FITTER.fit([0] * TRACES) == 0


def test_a_size_that_never_changes_is_no_variable() -> None:
    at = [{"n": p["n"], "d": 12} for p in POINTS]
    fitter = Fitter(at, ("n", "d"))
    assert fitter.names == ["n"]
    assert fitter.fit([12 * p["n"] for p in at]) == 12 * symbol("n")


@settings(max_examples=80)
@given(st.lists(st.integers(-200, 200), min_size=TRACES, max_size=TRACES))
def test_an_answer_reproduces_every_point(seen: list[int]) -> None:
    found = FITTER.fit(seen)
    if found is not None:
        assert values(as_expr(found), POINTS) == seen
        assert FITTER.matches(found, seen)


@settings(max_examples=40)
@given(st.tuples(monomials(3, 2), coefficients), st.integers(0, TRACES - 1), coefficients)
def test_one_point_off_is_no_fit(term: tuple[Expr, int], where: int, by: int) -> None:
    """Nothing simple passes through nine points of a monomial and misses the tenth."""
    seen = values(term[0] * term[1], POINTS)
    seen[where] += by
    found = FITTER.fit(seen)
    assert found is None or values(as_expr(found), POINTS) == seen
    assert not FITTER.matches(term[0] * term[1], seen)


PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]


@pytest.mark.parametrize(
    "rule",
    [
        lambda p: p["n"] % 3,
        lambda p: PRIMES[p["n"]],
        lambda p: 2 ** p["n"],
        lambda p: -(-p["n"] // 4),
        lambda p: max(p["n"], 2 * p["k"]),
        lambda p: p["n"].bit_length(),
        lambda p: p["d"] // p["n"],
    ],
    ids=["n mod 3", "primes", "power of two", "ceiling", "maximum", "bits", "floor"],
)
def test_what_is_no_polynomial_is_none(rule: object) -> None:
    assert callable(rule)
    at = [{**p, "n": n} for p, n in zip(points(3, 12), range(4, 16), strict=True)]
    assert Fitter(at, NAMES).fit([rule(p) for p in at]) is None


def test_passes_of_a_loop_fit_in_pass_and_count() -> None:
    """A dimension that changes from pass to pass: the context of a growing cache."""
    at = [{"n": n, "b": b, "_t": t} for n, b in ((9, 2), (11, 5), (13, 3)) for t in range(1, n - 1)]
    fitter = Fitter(at, ("b", "n", "_t"))
    expr = symbol("b") * (symbol("n") - symbol("_t") + 1)
    assert fitter.fit(values(expr, at)) == expr


def test_many_points_are_checked_all() -> None:
    """The search looks at some points; one that it skips still rules a candidate out."""
    at = [{"n": n, "_t": t} for n in range(9, 15) for t in range(1, n - 1)]
    fitter = Fitter(at, ("n", "_t"))
    skipped = next(i for i in range(len(at)) if i not in fitter._chosen)
    seen = [3 * p["_t"] for p in at]
    assert fitter.fit(seen) == 3 * symbol("_t")
    seen[skipped] += 1
    assert fitter.fit(seen) is None


def test_a_learnt_expression_answers_for_its_values() -> None:
    block = as_expr(4096 * ceil_div(symbol("n") * symbol("k"), 64))
    seen = values(block, POINTS)
    assert FITTER.fit(seen) is None
    fitter = Fitter(POINTS, NAMES)
    fitter.learn(block)
    assert fitter.fit(seen) == block


W = SizeModel(("n", "w"), below=(("w", "n"),))


def pairs_within(n: int, w: int) -> int:
    """Pairs (i, j) no farther apart than w, counted one by one."""
    return sum(abs(i - j) <= w for i in range(n) for j in range(n))


def causal_within(n: int, w: int) -> int:
    return sum(i - w < j <= i for i in range(n) for j in range(n))


n_, w_ = symbol("n"), symbol("w")


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (pairs_within, 2 * n_ * w_ + n_ - w_ * w_ - w_),
        (causal_within, n_ * w_ - w_ * (w_ - 1) * Fraction(1, 2)),
    ],
)
def test_pairs_of_a_window_are_fitted_from_counts(count: object, expected: Expr) -> None:
    assert callable(count)
    rng = random.Random(5)
    at = [W.sample(rng) for _ in range(12)]
    found = Fitter(at, ("n", "w")).fit_dense([count(**p) for p in at], ("n", "w"))
    assert found == expected
    assert found is not None
    assert found.evaluate({"n": 40, "w": 13}) == count(40, 13)


def test_a_mask_that_is_no_small_polynomial_is_none() -> None:
    rng = random.Random(5)
    at = [W.sample(rng) for _ in range(12)]
    assert Fitter(at, ("n", "w")).fit_dense([p["n"] ** 3 for p in at], ("n", "w")) is None


def test_known_expressions_come_before_the_search() -> None:
    """A quartic in two sizes is beyond the search, so only a known one can be found."""
    n, k, b = symbol("n"), symbol("k"), symbol("b")
    expr = n**4 + 3 * b * k**3 + b
    fitter = Fitter(POINTS, NAMES, (n / 2, expr))

    assert Fitter(POINTS, NAMES).fit(values(expr, POINTS)) is None
    assert fitter.fit(values(expr, POINTS)) == expr
    assert fitter.fit([p["n"] // 2 for p in POINTS]) != n / 2
    assert fitter.recall(values(n * b, POINTS)) is None
    assert fitter.fit(values(n * b, POINTS)) == n * b
    assert set(fitter.found()) == {expr, n * b}
