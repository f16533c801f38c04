"""Pruning of a maximum: never wrong, effective on real memory timelines, and fast."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from costlab.algebra import Expr, apply, as_expr, symbol
from costlab.formulas.bounds import Bounds
from costlab.formulas.prune import peak, prune
from costlab.formulas.record import Condition
from costlab.formulas.text import parse
from tests.formulas.expressions import expressions, polynomials

NAMES = ("n", "d", "w")
LSTM = (
    "84*b*d*n - 56*b*d + 48*d**2 + 8",
    "52*b*d*n - 40*b*d + 80*d**2 + 8",
    "52*b*d*n - 36*b*d + 64*d**2 + 8",
    "52*b*d*n - 44*b*d + 80*d**2 + 8",
    "84*b*d*n - 60*b*d + 48*d**2",
    "48*b*d*n + 48*d**2 + 8",
)


def pruned(texts: tuple[str, ...], lower: Mapping[str, int], *domain: Condition) -> list[str]:
    return [str(expr) for expr in prune([parse(text) for text in texts], lower, domain)]


def test_the_peak_of_an_lstm_keeps_three_of_six_moments() -> None:
    assert pruned(LSTM, {"n": 6}) == [str(parse(text)) for text in LSTM[:3]]
    assert peak(map(parse, LSTM), {"n": 6}) == peak(map(parse, LSTM[:3]), {"n": 6})


@pytest.mark.parametrize(
    ("texts", "lower", "domain", "expected"),
    [
        (("n**2", "3*n"), {"n": 3}, (), ["n**2"]),
        (("n**2", "3*n"), {"n": 2}, (), ["n**2", "3*n"]),
        (("n**2", "3*n"), {}, (Condition(">=", "n", 3),), ["n**2"]),
        (("n*d", "w*d"), {}, (), ["d*n", "d*w"]),
        (("n*d", "w*d"), {}, (Condition("<=", "w", "n"),), ["d*n"]),
        (("n*d", "w*d"), {}, (Condition("divides", "w", "n"),), ["d*n"]),
        (("n**2/w", "n"), {}, (Condition("<=", "w", "n"),), ["n**2/w"]),
        (
            ("c*d", "n*d", "w*n"),
            {},
            (Condition("<=", "w", "n"), Condition("<=", "n", "c"), Condition(">=", "d", "n")),
            ["c*d"],
        ),
        (("n*ceiling(n/w)", "n", "n/2"), {}, (), ["n*ceiling(n/w)"]),
        (("n*log(n, 2)", "n"), {"n": 2}, (), ["n*log(n, 2)"]),
        (("n*log(n, 2)", "n"), {"n": 1}, (), ["n*log(n, 2)", "n"]),
        (("n*Max(d, w - 9)", "n"), {}, (), ["n*Max(d, w - 9)"]),
        (("n*Min(d, w - 9)", "n*Min(d, w - 9) + 1"), {}, (), ["n*Min(d, w - 9) + 1"]),
        (("2*n*Min(d, w - 9)", "n*Min(d, w - 9)"), {}, (), None),
        (("n", "n"), {}, (), ["n"]),
        (("5", "7", "0"), {}, (), ["7"]),
        ((), {}, (), []),
    ],
)
def test_prune(
    texts: tuple[str, ...],
    lower: Mapping[str, int],
    domain: tuple[Condition, ...],
    expected: list[str] | None,
) -> None:
    """``None``: nothing may go, as the sign of the function is not known."""
    kept = pruned(texts, lower, *domain)

    assert kept == ([str(parse(text)) for text in texts] if expected is None else expected)


@settings(max_examples=40)
@given(
    st.lists(expressions(NAMES), min_size=2, max_size=5),
    st.fixed_dictionaries({name: st.integers(1, 5) for name in NAMES}),
    st.lists(st.fixed_dictionaries({name: st.integers(0, 30) for name in NAMES}), min_size=5),
    st.sampled_from([(), (Condition("<=", "w", "n"),), (Condition("<=", "d", "w"),)]),
)
def test_the_maximum_is_never_changed(
    candidates: list[Expr],
    lower: dict[str, int],
    above: list[dict[str, int]],
    domain: tuple[Condition, ...],
) -> None:
    kept = prune(candidates, lower, domain)

    for extra in above:
        sizes = {name: lower[name] + extra[name] for name in NAMES}
        if all(condition.holds(sizes) for condition in domain):
            most = max(float(expr.evaluate(sizes)) for expr in candidates)
            assert max(float(expr.evaluate(sizes)) for expr in kept) == pytest.approx(most)


@settings(max_examples=50)
@given(polynomials(NAMES), polynomials(NAMES, factors=st.integers(0, 9)))
def test_a_sum_with_something_positive_bounds(p: Expr, more: Expr) -> None:
    assert prune([p, p + more], {}) == ((p + more,) if more.terms else (p,))


@settings(max_examples=50)
@example(apply("ceiling", symbol("n") - 1), dict.fromkeys(NAMES, 1))
@example(apply("ceiling", symbol("n") - 2), dict.fromkeys(NAMES, 1))
@given(expressions(NAMES), st.fixed_dictionaries({name: st.integers(1, 9) for name in NAMES}))
def test_least_values_are_least(expr: Expr, sizes: dict[str, int]) -> None:
    bounds = Bounds({})
    for atom in expr.atoms():
        least = bounds.of(atom)
        if least is not None:
            assert float(Expr({((atom, 1),): 1}).evaluate(sizes)) >= least - 1e-9


def test_coefficients_beyond_64_bits_are_compared_exactly() -> None:
    huge = 10**30
    exprs = [as_expr(huge) * parse("n"), as_expr(huge) * parse("n") + 1]

    assert prune(exprs, {"n": 1000}) == (exprs[1],)


def test_four_hundred_moments_in_milliseconds() -> None:
    """A deep model's timeline: 400 candidates of 20 terms, in processor time."""
    draw = random.Random(5)
    base = [
        parse("*".join(draw.choices(["b", "n", "h", "k", "f"], k=draw.randint(1, 4))))
        for _ in range(40)
    ]
    candidates = [
        sum((draw.randint(1, 60) * 4 * mono for mono in draw.sample(base, 20)), start=as_expr(0))
        for _ in range(400)
    ]
    lower = {"n": 6, "b": 2, "h": 2, "k": 2}
    prune(candidates, lower)
    start = time.process_time()
    prune(candidates, lower)

    assert time.process_time() - start < 0.25
