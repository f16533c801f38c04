"""Writes formulas as LaTeX mathematics (without dollar signs)."""

from __future__ import annotations

import re

from costlab.algebra import Size
from costlab.formulas.form import Base, Call, Product, Sum, join_signed
from costlab.formulas.simplify import arranged

_GREEK = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi",
    "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi",
    "Omega",
))  # fmt: skip
_BRACKETS = {
    "Max": (r"\max\left(", r"\right)"),
    "Min": (r"\min\left(", r"\right)"),
    "ceiling": (r"\left\lceil ", r" \right\rceil"),
    "floor": (r"\left\lfloor ", r" \right\rfloor"),
    "log2": (r"\log_{2}\left(", r"\right)"),
}


def latex(expr: Size, *, deep: bool = False) -> str:
    r"""Return ``expr`` as LaTeX, arranged as :func:`costlab.formulas.simplify.pretty` does.

    >>> from costlab.formulas.text import parse
    >>> latex(parse("n*(n + 1)/2 * P_matmul"))
    '\\frac{P_{\\mathrm{matmul}} n \\left(n + 1\\right)}{2}'
    """
    return _sum(arranged(expr, deep=deep))


def name(symbol: str) -> str:
    r"""Return a symbol's LaTeX: ``d``, ``\alpha``, ``n_{1}``, ``P_{\mathrm{matmul}}``."""
    head, *subscripts = symbol.strip("_").split("_")
    numbered = re.fullmatch(r"([^\W\d]|[^\W\d]{2,}?)(\d+)", head)
    if numbered and (len(numbered[1]) == 1 or numbered[1] in _GREEK):
        head, subscripts = numbered[1], [numbered[2], *subscripts]
    below = ",".join(_word(part) for part in subscripts if part)
    return _word(head) + (f"_{{{below}}}" if below else "")


def _word(text: str) -> str:
    if text in _GREEK:
        return "\\" + text
    return text if len(text) == 1 or text.isdigit() else rf"\mathrm{{{text}}}"


def _sum(tree: Sum) -> str:
    return join_signed(tree, _product, minus="- ")


def _product(part: Product) -> str:
    value = abs(part.coefficient)
    above = [(base, power) for base, power in part.factors if power > 0]
    below = [(base, -power) for base, power in part.factors if power < 0]
    if value.denominator == 1 and not below:
        return _line(value.numerator, above)
    return rf"\frac{{{_side(value.numerator, above)}}}{{{_side(value.denominator, below)}}}"


def _side(number: int, factors: list[tuple[Base, int]]) -> str:
    """One side of a fraction: a sum that stands there alone needs no brackets."""
    if number == 1 and len(factors) == 1 and factors[0][1] == 1:
        base = factors[0][0]
        if isinstance(base, Sum):
            return _sum(base)
    return _line(number, factors)


def _line(number: int, factors: list[tuple[Base, int]]) -> str:
    written = [_power(base, power) for base, power in factors]
    return " ".join(written if number == 1 and written else [str(number), *written])


def _power(base: Base, power: int) -> str:
    if isinstance(base, str):
        text = name(base)
    elif isinstance(base, Sum):
        text = rf"\left({_sum(base)}\right)"
    else:
        text = _call(base)
        if power != 1 and base.name not in ("ceiling", "floor"):
            text = rf"\left({text}\right)"
    return text if power == 1 else f"{text}^{{{power}}}"


def _call(call: Call) -> str:
    before, after = _BRACKETS[call.name]
    return before + ", ".join(_sum(arg) for arg in call.args) + after
