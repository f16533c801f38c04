"""Reading formulas: round trips, term lists, and refusal of everything else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given

import costlab_profiles
from costlab.algebra import Expr, apply, as_expr, maximum, symbol
from costlab.errors import AlgebraError
from costlab.formulas.text import candidates, from_terms, parse, read, terms
from tests.formulas.expressions import SIZES, expressions, polynomials

b, n, d, w = (symbol(name) for name in "bndw")


@given(expressions())
def test_parse_undoes_str(expr: Expr) -> None:
    assert parse(str(expr)) == expr


@given(expressions())
def test_read_undoes_str(expr: Expr) -> None:
    assert read(str(expr)) == expr
    assert str(read(str(expr))) == str(expr)


def test_read_gives_what_parse_gives_for_committed_texts() -> None:
    file = Path(
        costlab_profiles.__path__[0], "formulas/lsh_attention/train-cpu-float32-causal.json"
    )
    document = json.loads(file.read_text(encoding="utf-8"))
    texts = {
        text
        for found in document["classes"]
        for group in found["groups"]
        for text in [*group[4:8], *(size for shape in group[8] for size in shape)]
    }
    texts |= {q[0] for found in document["classes"] for q in found["cost"].values() if q[0]}

    assert len(texts) > 100
    assert all(read(text) == parse(text) for text in texts)


@pytest.mark.parametrize(
    "text",
    ["", "n n", "n.real", "f(n)", "Max", "n +", "__import__('os')", "n, d", "n + n", "(n)", "1e3"],
)
def test_read_refuses_what_str_never_writes(text: str) -> None:
    with pytest.raises(AlgebraError):
        read(text)


@given(expressions())
def test_from_terms_undoes_terms_through_json(expr: Expr) -> None:
    assert from_terms(json.loads(json.dumps(terms(expr)))) == expr


@given(polynomials(), SIZES)
def test_python_reads_the_same_polynomial(expr: Expr, sizes: Mapping[str, int]) -> None:
    """The text means what Python's own arithmetic makes of it (to rounding of quotients)."""
    value = eval(str(expr), {"__builtins__": {}}, dict(sizes))

    assert value == pytest.approx(float(expr.evaluate(sizes)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4*b*d*n*(6*d + n)", 24 * b * d**2 * n + 4 * b * d * n**2),
        ("-n**2/2 + n*(n + 1)/2", n / 2),
        ("2**-3*n", n / 8),
        ("2**3**2", as_expr(512)),
        ("+n - -d", n + d),
        ("ceiling(n/w)*w", as_expr(apply("ceiling", n / w)) * w),
        ("log(8*n, 2)", apply("log2", 8 * n)),
        ("log(8, 2)", as_expr(3)),
        ("Max(n, Max(d, 3))", as_expr(maximum(n, d, 3))),
        ("Min(floor(7/2), 9)", as_expr(3)),
        ("(n + 1)*(n - 1)/(n + 1)", n - 1),
        ("  n  ", n),
    ],
)
def test_parse(text: str, expected: Expr) -> None:
    assert parse(text) == expected


def test_names_that_mean_something_elsewhere_are_symbols() -> None:
    """Where sympy would read constants and functions, we read sizes."""
    expr = parse("S*N*Q*E*I*O*pi + beta*gamma*zeta*oo")

    assert expr.symbols() == {"S", "N", "Q", "E", "I", "O", "pi", "beta", "gamma", "zeta", "oo"}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "n.real", "n[0]", "f(n)", "(lambda: n)()", "lambda",
        "[n for n in d]", "(n := 3)", "n if d else w", "n < d", "not n", "n @ d", "n // d", "n % d",
        "1.5*n", "1e3", "1j", "True", "None", "'n'", "b'n'", "...", "n and d", "~n", "{n}", "n, d",
        "Max", "Max()", "Max(*n)", "Max(n, key=d)", "floor(n, d)", "log(n)", "log(n, 3)",
        "log(0, 2)", "", "n n", "n +", "n; d", "n\nd", "\0", "n**d", "n**(1/2)", "1/0", "n/(d - d)",
        "1/(n + 1)", "(n + 1)/(n - 1)", "n = d", "import os", "await n", "f'{n}'",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(AlgebraError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "n**65", "9**9**9", "2**10000", "((((2**60)**60)**60)**60)", "((n**64)**64)**64",
        "(a + b + c + d + e + f)**40", "*".join(f"(a{i} + b{i})" for i in range(40)),
        "(" * 5000 + "n" + ")" * 5000, "-" * 50_000 + "n", "9" * 5000, "n" + "**2" * 5000,
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_formulas_too_large_to_expand_are_refused_at_once(text: str) -> None:
    with pytest.raises(AlgebraError) as caught:
        parse(text)

    assert len(str(caught.value)) < 400


def test_a_sum_may_have_a_thousand_terms() -> None:
    text = " + ".join(f"{i}*n{i}" for i in range(1, 1001))

    assert len(parse(text).terms) == 1000


def test_terms_of_a_maximum_are_one_list_per_candidate() -> None:
    expr = as_expr(maximum(84 * b * d * n - 56 * b * d + 8, n / 2))

    assert terms(expr) == [
        [[84, {"b": 1, "d": 1, "n": 1}], [-56, {"b": 1, "d": 1}], [8, {}]],
        [["1/2", {"n": 1}]],
    ]
    assert candidates(expr) == (84 * b * d * n - 56 * b * d + 8, n / 2)


def test_terms_of_a_sum_with_a_maximum_keep_the_function_as_an_atom() -> None:
    expr = 3 * n * as_expr(maximum(d, w)) + 1

    assert terms(expr) == [[[3, {"n": 1, "Max(d, w)": 1}], [1, {}]]]
    assert terms(0) == [[]]


@pytest.mark.parametrize(
    "data",
    [
        [], [[[1]]], [[[1.5, {"n": 1}]]], [[["1/0", {}]]], [[["1e9", {}]]], [[[1, {"n": 0.5}]]],
        [[[1, {"n": 10**6}]]], [[[1, {"n + 1": 1}]]], [[[1, {"f(n)": 1}]]], [[[True, {}]]],
        [[["9" * 2000, {}]]], [[[1, "n"]]],
    ],
    ids=str,
)  # fmt: skip
def test_from_terms_refuses_what_is_no_term_list(data: list[list[list[int]]]) -> None:
    with pytest.raises(AlgebraError):
        from_terms(data)
