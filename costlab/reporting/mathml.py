"""Writes formulas as MathML, which browsers set without a script or a network."""

from __future__ import annotations

import re
from html import escape

from costlab.algebra import Expr, Size
from costlab.formulas.form import Base, Call, Product, Sum
from costlab.formulas.simplify import arranged

_FENCES = {"ceiling": ("⌈", "⌉"), "floor": ("⌊", "⌋")}
_NAMES = {"Max": "max", "Min": "min"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_TIMES = "<mo>&#x2062;</mo>"  # invisible times: the product is read aloud, not drawn


def mathml(expr: Size, *, stacked: bool = False) -> str:
    """``expr`` as a ``<math>`` element, arranged as the other writers arrange it.

    Args:
        expr: what to write.
        stacked: whether a maximum that is the whole formula has one argument per line.
    """
    return f"<math>{_sum(arranged(expr), stacked=stacked)}</math>"


def mathml_of_terms(expr: Expr) -> str:
    """``expr`` as a ``<math>`` element with its terms side by side, as an order is written."""
    if not expr.terms:
        return mathml(expr)
    terms = [_sum(arranged(Expr({monomial: factor}))) for monomial, factor in expr.ordered()]
    return f"<math>{_row([part for term in terms for part in ('<mo>+</mo>', term)][1:])}</math>"


def _row(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _sum(tree: Sum, *, stacked: bool = False) -> str:
    if not tree.parts:
        return "<mn>0</mn>"
    parts: list[str] = []
    for part in tree.parts:
        negative = part.coefficient < 0
        if parts or negative:
            parts.append(f"<mo>{'−' if negative else '+'}</mo>")
        parts.append(_product(part, stacked=stacked and len(tree.parts) == 1))
    return _row(parts)


def _product(part: Product, *, stacked: bool) -> str:
    value = abs(part.coefficient)
    above = _line(value.numerator, [(b, p) for b, p in part.factors if p > 0], stacked=stacked)
    below = [(b, -p) for b, p in part.factors if p < 0]
    if value.denominator == 1 and not below:
        return above
    return f"<mfrac>{above}{_line(value.denominator, below, stacked=False)}</mfrac>"


def _line(number: int, factors: list[tuple[Base, int]], *, stacked: bool) -> str:
    written = [_power(base, power, stacked=stacked) for base, power in factors]
    if number != 1 or not written:
        written.insert(0, f"<mn>{number}</mn>")
    return _row([piece for item in written for piece in (_TIMES, item)][1:])


def _power(base: Base, power: int, *, stacked: bool) -> str:
    if isinstance(base, str):
        text = _name(base)
    elif isinstance(base, Sum):
        text = _fenced("(", _sum(base), ")")
    else:
        text = _call(base, stacked=stacked)
    # Raised digits and not <msup>: without a font for mathematics browsers lift it far too high.
    return (
        text if power == 1 else f"<mrow>{text}<mtext>{str(power).translate(_RAISED)}</mtext></mrow>"
    )


def _call(call: Call, *, stacked: bool) -> str:
    if call.name == "log2":
        logarithm = "<msub><mi>log</mi><mn>2</mn></msub>"
        return f"<mrow>{logarithm}{_fenced('(', _sum(call.args[0]), ')')}</mrow>"
    if call.name in _FENCES:
        before, after = _FENCES[call.name]
        return _fenced(before, _sum(call.args[0]), after)
    if stacked and len(call.args) > 1:
        lines = "".join(f"<mtr><mtd>{_sum(arg)}</mtd></mtr>" for arg in call.args)
        inner = f'<mtable columnalign="left" class="stack">{lines}</mtable>'
        return f"<mrow><mi>{_NAMES[call.name]}</mi><mo>{{</mo>{inner}</mrow>"
    inner = "<mo>,</mo>".join(_sum(arg) for arg in call.args)
    return f"<mrow><mi>{_NAMES[call.name]}</mi>{_fenced('(', inner, ')')}</mrow>"


def _fenced(before: str, inner: str, after: str) -> str:
    # Powers must not blow brackets up; fractions may.
    fixed = "" if "<mfrac>" in inner else ' stretchy="false"'
    return f"<mrow><mo{fixed}>{before}</mo>{inner}<mo{fixed}>{after}</mo></mrow>"


def _name(symbol: str) -> str:
    """``P_matmul`` gets a subscript, ``n1`` an index; longer names stand upright."""
    numbered = re.fullmatch(r"([A-Za-z])(\d+)", symbol)
    head, *subscripts = [*numbered.groups()] if numbered else symbol.strip("_").split("_")
    variant = ' mathvariant="normal"' if len(head) > 1 else ""
    text = f"<mi{variant}>{escape(head)}</mi>"
    if not subscripts:
        return text
    below = escape(" ".join(subscripts))
    return f"<msub>{text}<mtext>{below}</mtext></msub>"
