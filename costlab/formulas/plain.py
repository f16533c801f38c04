"""Formulas as a person writes them: 4·b·n²·d, not 4*b*n**2*d."""

from __future__ import annotations

import textwrap

from costlab.algebra import Expr, Size, as_expr
from costlab.formulas.form import Base, Call, Product, Sum, join_signed
from costlab.formulas.simplify import arranged

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NAMES = {"log2": "log₂", "Max": "max", "Min": "min"}
_NARROWEST = 40


def formula(expr: Size) -> str:
    """Text of an expression on one line."""
    return _sum(arranged(expr))


def summed(expr: Size) -> str:
    """Text of an expression with its terms side by side, for orders of growth."""
    expr = as_expr(expr)
    return (
        formula(0)
        if not expr.terms
        else " + ".join(formula(Expr({mono: coefficient})) for mono, coefficient in expr.ordered())
    )


def wrapped(expr: Size, width: int, indent: int) -> str:
    """Text of an expression, folded to ``width`` characters; later lines have ``indent`` spaces.

    A maximum that does not fit on a line has one for each of its candidates.
    """
    tree = arranged(expr)
    text = _sum(tree)
    if len(text) <= width - indent:
        return text
    if len(tree.parts) == 1:
        head, call = _trailing_extreme(tree.parts[0])
        if call is not None and len(call.args) > 1:
            start = f"{head}{_NAMES[call.name]}("
            inner = indent + len(start)
            lines = [_fold(_sum(arg), width, inner) for arg in call.args]
            return start + f",\n{' ' * inner}".join(lines) + ")"
    return _fold(text, width, indent)


def _trailing_extreme(part: Product) -> tuple[str, Call | None]:
    """A product that ends in one maximum or minimum: the text before it, and the call."""
    if not part.factors or part.coefficient <= 0:
        return "", None
    calls = [base for base, _power in part.factors if isinstance(base, Call)]
    last, power = part.factors[-1]
    if calls != [last] or power != 1 or not isinstance(last, Call) or last.name not in _NAMES:
        return "", None
    if part.coefficient.denominator != 1 or any(p < 0 for _base, p in part.factors):
        return "", None
    rest = Product(part.coefficient, part.factors[:-1])
    text = _product(rest)
    return ("" if text == "1" else f"{text}·"), last


def _fold(text: str, width: int, indent: int) -> str:
    # A line may break before a sign and after a comma, not within a term.
    glued = text.replace(" + ", " +\0").replace(" - ", " -\0")
    lines = textwrap.wrap(
        glued, max(width - indent, _NARROWEST), break_long_words=False, break_on_hyphens=False
    )
    return f"\n{' ' * indent}".join(lines).replace("\0", " ")


def _sum(tree: Sum) -> str:
    return join_signed(tree, _product)


def _product(part: Product) -> str:
    above = [_power(base, power) for base, power in part.factors if power > 0]
    below = [_power(base, -power) for base, power in part.factors if power < 0]
    value = abs(part.coefficient)
    if value.numerator != 1 or not above:
        above.insert(0, str(value.numerator))
    if value.denominator != 1:
        below.insert(0, str(value.denominator))
    if len(below) > 1:
        below = [f"({'·'.join(below)})"]
    return "/".join(["·".join(above), *below])


def _power(base: Base, power: int) -> str:
    if isinstance(base, str):
        text = base
    elif isinstance(base, Sum):
        text = f"({_sum(base)})"
    else:
        text = f"{_NAMES.get(base.name, base.name)}({', '.join(map(_sum, base.args))})"
    return text if power == 1 else text + str(power).translate(_RAISED)
