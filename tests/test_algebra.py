"""Laws of the cost algebra, against Python's own integers and brute force."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab.algebra import (
    Expr,
    apply,
    as_expr,
    at_least,
    ceil_div,
    ceiling,
    exact_div,
    exact_log2,
    floor,
    maximum,
    minimum,
    product,
    sum_range,
    symbol,
    total,
)
from costlab.errors import AlgebraError
from tests.formulas.expressions import SIZES, expressions, polynomials

b, n, d, w = (symbol(name) for name in "bndw")


@given(polynomials(), polynomials(), polynomials())
def test_ring_axioms(p: Expr, q: Expr, r: Expr) -> None:
    assert p + q == q + p
    assert p * q == q * p
    assert (p + q) + r == p + (q + r)
    assert (p * q) * r == p * (q * r)
    assert p * (q + r) == p * q + p * r
    assert p + 0 == p
    assert p * 1 == p
    assert p * 0 == 0
    assert p - p == 0
    assert -p == p * -1


@given(polynomials(lowest=-1), polynomials(lowest=-1), SIZES)
def test_evaluate_is_a_homomorphism(p: Expr, q: Expr, sizes: Mapping[str, int]) -> None:
    assert (p + q).evaluate(sizes) == p.evaluate(sizes) + q.evaluate(sizes)
    assert (p * q).evaluate(sizes) == p.evaluate(sizes) * q.evaluate(sizes)
    assert (p - q).evaluate(sizes) == p.evaluate(sizes) - q.evaluate(sizes)
    assert (p**3).evaluate(sizes) == p.evaluate(sizes) ** 3


@given(polynomials(), polynomials())
def test_equal_expressions_have_equal_hashes(p: Expr, q: Expr) -> None:
    left, right = (p + q) ** 2, p**2 + 2 * p * q + q**2

    assert left == right
    assert hash(left) == hash(right)
    assert str(left) == str(right)


@pytest.mark.parametrize("value", [0, 7, -3, Fraction(2, 3)])
def test_a_constant_expression_equals_its_number(value: int | Fraction) -> None:
    assert as_expr(value) == value
    assert hash(as_expr(value)) == hash(value)
    assert n - n + value == value


@given(expressions(), st.integers(1, 40), SIZES)
def test_substituting_a_number(p: Expr, value: int, sizes: Mapping[str, int]) -> None:
    inserted = float(p.subs({"n": value}).evaluate(sizes))
    expected = float(p.evaluate({**sizes, "n": value}))

    assert math.isclose(inserted, expected, rel_tol=1e-9, abs_tol=1e-6)


@given(polynomials(), polynomials(most=3), SIZES)
def test_substituting_an_expression(p: Expr, value: Expr, sizes: Mapping[str, int]) -> None:
    inner = value.evaluate(sizes)

    assert p.subs({"n": value}).evaluate(sizes) == p.evaluate({**sizes, "n": inner})


@given(polynomials(), polynomials(lowest=-1))
def test_exact_div_undoes_multiplication(p: Expr, q: Expr) -> None:
    if q.terms:
        assert exact_div(p * q, q) == p


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(n**2 + 1, n + 1), (n + d, n + w), (1, n + 1), (n, n - n)]
)
def test_exact_div_refuses_a_remainder(numerator: Expr, denominator: Expr) -> None:
    with pytest.raises(AlgebraError):
        exact_div(numerator, denominator)


def test_exact_div_with_sizes_below_the_line() -> None:
    assert (n + 1) / (n**2 + n) == 1 / n
    assert (n / w + 1) / (n + w) == 1 / w


@given(
    polynomials(("t", "n"), most=4),
    st.integers(-4, 6),
    st.integers(0, 12),
    st.integers(1, 9),
)
def test_sum_range_is_the_sum(term: Expr, first: int, count: int, size: int) -> None:
    last = first + count - 1
    brute = sum(Fraction(term.evaluate({"t": t, "n": size})) for t in range(first, last + 1))

    assert sum_range(term, "t", first, last).evaluate({"n": size}) == brute


@pytest.mark.parametrize("size", [2, 3, 5, 11])
def test_sum_range_with_symbolic_ends(size: int) -> None:
    causal = sum_range(symbol("t") * 4 * d, "t", 1, n)

    assert causal == 2 * d * n * (n + 1)
    assert sum_range(symbol("t") ** 3, "t", w, n).evaluate({"w": 2, "n": size}) == sum(
        t**3 for t in range(2, size + 1)
    )


@pytest.mark.parametrize("term", [1 / symbol("t"), as_expr(ceiling(symbol("t") / 2))])
def test_sum_range_refuses_what_has_no_closed_form(term: Expr) -> None:
    with pytest.raises(AlgebraError, match="pass number"):
        sum_range(term, "t", 1, n)


@given(st.lists(polynomials(most=2), min_size=2, max_size=4), SIZES)
def test_nested_extremes_are_flat(parts: list[Expr], sizes: Mapping[str, int]) -> None:
    nested, flat = maximum(maximum(*parts[:-1]), parts[-1]), maximum(*parts)

    assert nested == flat
    assert maximum(*reversed(parts)) == flat
    assert as_expr(flat).evaluate(sizes) == max(p.evaluate(sizes) for p in parts)
    assert as_expr(minimum(*parts)).evaluate(sizes) == min(p.evaluate(sizes) for p in parts)


def test_extremes_merge_constants_and_repeats() -> None:
    assert maximum(3, n, 7, n) == maximum(7, n)
    assert maximum(n, n) == n
    assert minimum(2, 5) == 2
    assert str(maximum(n, minimum(n, d))) == "Max(Min(d, n), n)"


@given(st.integers(1, 10**6), st.integers(1, 999))
def test_rules_give_the_same_for_numbers_and_expressions(size: int, block: int) -> None:
    sizes = {"n": size, "w": block}

    assert as_expr(ceil_div(n, w)).evaluate(sizes) == ceil_div(size, block) == -(-size // block)
    assert as_expr(floor(n / w)).evaluate(sizes) == size // block
    assert as_expr(ceiling(n / w)).evaluate(sizes) == math.ceil(Fraction(size, block))
    assert apply("log2", n).evaluate(sizes) == math.log2(size)
    assert as_expr(at_least(n, block)).evaluate(sizes) == at_least(size, block)


def test_a_logarithm_of_a_number_stays_exact() -> None:
    assert apply("log2", n).subs({"n": 1024}) == 10
    assert str(apply("log2", 2 * n).subs({"n": 5})) == "log(10, 2)"
    assert as_expr(exact_log2(12)).evaluate({}) == math.log2(12)


@given(st.lists(st.one_of(polynomials(most=2), st.integers(-9, 9)), max_size=6))
def test_total_and_product(parts: list[Expr | int]) -> None:
    summed, multiplied = as_expr(0), as_expr(1)
    for part in parts:
        summed, multiplied = summed + part, multiplied * part

    assert total(parts) == summed
    assert product(parts) == multiplied


def test_sizes_beyond_64_bits_stay_exact() -> None:
    """96 layers, a million tokens, width 8192, batch 64: int64 would wrap around."""
    layers = symbol("L")
    flop = layers * (24 * b * n * d**2 + 4 * b * n**2 * d)
    sizes = {"L": 96, "b": 64, "n": 1_000_000, "d": 8192}
    expected = 96 * (24 * 64 * 10**6 * 8192**2 + 4 * 64 * 10**12 * 8192)

    assert flop.evaluate(sizes) == expected
    assert expected > 2**63


@pytest.mark.parametrize("power", [0.5, "2", n])
def test_powers_are_integers(power: object) -> None:
    with pytest.raises(AlgebraError):
        n**power  # type: ignore[operator]


def test_a_missing_size_is_named() -> None:
    with pytest.raises(AlgebraError, match="d"):
        (n * d).evaluate({"n": 3})


def test_no_constant_of_an_expression_with_sizes() -> None:
    with pytest.raises(AlgebraError):
        n.constant()
    with pytest.raises(AlgebraError):
        as_expr(0.5)  # type: ignore[arg-type]
