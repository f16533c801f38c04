r"""LaTeX: expected strings, and random formulas read back by a small reader of our LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings

from costlab.algebra import Expr, symbol
from costlab.formulas.latex import latex, name
from costlab.formulas.text import parse
from tests.formulas.expressions import NAMES, SIZES, expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24*b*d**2*n + 4*b*d*n**2", r"4 b d n \left(6 d + n\right)"),
        ("n**2/2 + n/2", r"\frac{n \left(n + 1\right)}{2}"),
        ("(n + w)/(2*h)", r"\frac{n + w}{2 h}"),
        ("ceiling(n/w)", r"\left\lceil \frac{n}{w} \right\rceil"),
        ("floor(n/w)**2", r"\left\lfloor \frac{n}{w} \right\rfloor^{2}"),
        ("n*log(n, 2)", r"n \log_{2}\left(n\right)"),
        ("Max(n, d)**2", r"\left(\max\left(d, n\right)\right)^{2}"),
        ("Max(F/P_matmul, B/W)", r"\max\left(\frac{B}{W}, \frac{F}{P_{\mathrm{matmul}}}\right)"),
        ("-n**2 - w", r"- \left(n^{2} + w\right)"),
        ("-n/2", r"- \frac{n}{2}"),
        ("1/n", r"\frac{1}{n}"),
        ("0", "0"),
        ("3/2", r"\frac{3}{2}"),
    ],
)
def test_latex(text: str, expected: str) -> None:
    assert latex(parse(text)) == expected


@pytest.mark.parametrize(
    ("given_name", "expected"),
    [
        ("d", "d"),
        ("alpha", r"\alpha"),
        ("lambda_", r"\lambda"),
        ("n1", "n_{1}"),
        ("beta2", r"\beta_{2}"),
        ("vocab", r"\mathrm{vocab}"),
        ("P_matmul", r"P_{\mathrm{matmul}}"),
        ("P_matmul_bf16", r"P_{\mathrm{matmul},\mathrm{bf16}}"),
        ("t_launch", r"t_{\mathrm{launch}}"),
        ("x_i", "x_{i}"),
    ],
)
def test_names(given_name: str, expected: str) -> None:
    assert name(given_name) == expected
    assert latex(symbol(given_name)) == expected


@settings(max_examples=50)
@given(expressions(), SIZES)
def test_latex_has_the_value_of_the_formula(expr: Expr, sizes: Mapping[str, int]) -> None:
    written = latex(expr)

    assert written.count("{") == written.count("}")
    assert written.count(r"\left") == written.count(r"\right")
    expected = float(expr.evaluate(sizes))
    assert float(_read(written).evaluate(sizes)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def _read(text: str) -> Expr:
    """Turn LaTeX as we write it into formula text: token by token, spaces being products."""
    for plain in NAMES:
        text = re.sub(rf"(?<![\w\\]){re.escape(name(plain))}(?![\w])", plain, text)
    return parse(_plain(text.replace(r"\lambda", "lambda_")))


def _plain(text: str) -> str:
    text = re.sub(r"\\max\\left\(", "Max(", text)
    text = re.sub(r"\\min\\left\(", "Min(", text)
    text = re.sub(r"\\left\\lceil ", "ceiling(", text)
    text = re.sub(r"\\left\\lfloor ", "floor(", text)
    text = re.sub(r" \\right\\r(ceil|floor)", ")", text)
    text = _logarithms(text)
    text = text.replace(r"\left(", "(").replace(r"\right)", ")")
    while r"\frac" in text:
        start = text.rindex(r"\frac")
        above, middle = _braced(text, start + len(r"\frac"))
        below, end = _braced(text, middle)
        text = f"{text[:start]}(({above})/({below})){text[end:]}"
    text = re.sub(r"\^\{(\d+)\}", r"**\1", text)
    return re.sub(r"(?<=[\w)]) (?=[\w(])", "*", text)


def _logarithms(text: str) -> str:
    mark = r"\log_{2}\left("
    while mark in text:
        start = text.rindex(mark)
        depth, end = 1, start + len(mark)
        while depth:
            if text.startswith(r"\left(", end) or text.startswith("(", end):
                depth += 1
                end += 6 if text.startswith(r"\left(", end) else 1
            elif text.startswith(r"\right)", end) or text.startswith(")", end):
                depth -= 1
                end += 7 if text.startswith(r"\right)", end) else 1
            else:
                end += 1
        inner = text[start + len(mark) : end].removesuffix(")").removesuffix(r"\right")
        text = f"{text[:start]}log({inner}, 2){text[end:]}"
    return text


def _braced(text: str, start: int) -> tuple[str, int]:
    """The text between the brace at ``start`` and its partner, and where that ends."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return text[start + 1 : i], i + 1
    raise AssertionError(f"unbalanced braces in {text}")
