"""Substituted products and pretty text: equal in value, and as a person would write it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from costlab.algebra import Expr, Func, as_expr, symbol
from costlab.formulas.simplify import pretty, rewrite
from costlab.formulas.text import parse
from tests.formulas.expressions import SIZES, expressions, polynomials

PAIRS = {("h", "k"): "d", ("w", "c"): "n"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8*b*h**2*k**2*n + 4*b*h*k*n**2", "8*b*d**2*n + 4*b*d*n**2"),
        ("h**3*k", "d*h**2"),
        ("b*c*w*k", "b*n*k"),
        ("n/(h*k)", "n/d"),
        ("h/k + k", "h/k + k"),
        ("1/(h**2*k)", "1/(d*h)"),
        ("Max(h*k, ceiling(c*w/64)) + log(h*k*c*w, 2)", "Max(d, ceiling(n/64)) + log(d*n, 2)"),
        ("Max(h*k, d)", "d"),
    ],
)
def test_rewrite(text: str, expected: str) -> None:
    assert rewrite(parse(text), PAIRS) == parse(expected)


@settings(max_examples=50)
@given(expressions(("h", "k", "w", "c", "b")), st.tuples(*[st.integers(1, 9)] * 5))
def test_rewrite_keeps_the_value(expr: Expr, sizes: tuple[int, ...]) -> None:
    values = dict(zip("hkwcb", sizes, strict=True))
    values |= {"d": values["h"] * values["k"], "n": values["w"] * values["c"]}
    rewritten = rewrite(expr, PAIRS)

    assert float(rewritten.evaluate(values)) == pytest.approx(float(expr.evaluate(values)))
    for mono, _ in rewritten:
        powers = dict(mono)
        assert powers.get("h", 0) * powers.get("k", 0) <= 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24*b*d**2*n + 4*b*d*n**2", "4*b*d*n*(6*d + n)"),
        ("48*b*d**2*n - 8*b*d**2", "8*b*d**2*(6*n - 1)"),
        ("4*b*d*(2*n*w + n - w**2 - w)", "4*b*d*(n*(2*w + 1) - w*(w + 1))"),
        ("n**2/2 + n/2", "n*(n + 1)/2"),
        ("84*b*d*n - 56*b*d + 48*d**2 + 8", "84*b*d*n - 56*b*d + 48*d**2 + 8"),
        ("(n + 1)*(d + 2)", "(d + 2)*(n + 1)"),
        ("Max(4*b*n*d, 8*b*n**2)", "4*b*n*Max(d, 2*n)"),
        ("n**2/(4*h*w)", "n**2/(4*h*w)"),
        ("n/w + 1", "n/w + 1"),
        ("-n**2 - n*w", "-n*(n + w)"),
        ("-3*n + w**2", "w**2 - 3*n"),
        ("-n + 3", "3 - n"),
        ("4*n*log(n, 2) + 2*n", "2*n*(2*log(n, 2) + 1)"),
        ("0", "0"),
        ("-7/3", "-7/3"),
    ],
)
def test_pretty(text: str, expected: str) -> None:
    assert pretty(parse(text)) == expected


@settings(max_examples=50)
@given(expressions(), SIZES)
def test_pretty_keeps_the_value(expr: Expr, sizes: Mapping[str, int]) -> None:
    expected = float(expr.evaluate(sizes))
    read = parse(pretty(expr))

    assert float(read.evaluate(sizes)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if not any(isinstance(atom, Func) for atom in expr.atoms()):
        assert read == expr


@settings(max_examples=30)
@given(polynomials(lowest=-1), polynomials(most=2))
def test_deep_factors_keep_the_value_and_are_no_longer(p: Expr, q: Expr) -> None:
    text = pretty(p * q, deep=True)

    assert parse(text) == p * q
    assert len(text) <= len(pretty(p * q))


def test_deep_finds_products_that_grouping_does_not() -> None:
    n, d, w = (symbol(name) for name in "ndw")
    expr = (n**2 + d * w + 1) * (n**2 - d + w) / (3 * w)

    assert pretty(expr, deep=True) == "(d*w + n**2 + 1)*(n**2 - d + w)/(3*w)"


@settings(max_examples=40)
@given(polynomials(), polynomials(most=2))
def test_sympy_reads_the_same_polynomial(p: Expr, q: Expr) -> None:
    """An independent algebra expands the pretty text to the same terms."""
    expr = as_expr(p * q)
    names = {name: sympy.Symbol(name) for name in expr.symbols()}
    theirs = sympy.expand(sympy.parse_expr(pretty(expr), local_dict=names))

    ours = sum(
        sympy.Rational(str(c)) * sympy.prod(names[str(a)] ** power for a, power in mono)
        for mono, c in expr
    )
    assert sympy.expand(theirs - ours) == 0
