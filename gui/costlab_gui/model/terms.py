"""A formula taken apart into terms: each as text, as LaTeX, and with numbers put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from costlab.algebra import Atom, Expr, Func, Monomial, Number
from costlab.errors import AlgebraError
from costlab.formulas.latex import latex, name
from costlab.formulas.plain import formula
from costlab.i18n import _
from costlab.symbols import SIZES
from costlab.units import format_value

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_LONG = 24
_ORDER = {symbol: place for place, symbol in enumerate(SIZES)}
_BARE = ("ceiling", "floor")
_NUMERIC: Mapping[str, Callable[..., Number]] = {
    "log2": math.log2, "ceiling": math.ceil, "floor": math.floor, "Max": max, "Min": min,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a sum; ``text`` and ``latex`` are those of its absolute value."""

    expr: Expr
    text: str
    latex: str
    negative: bool


class Evaluator:
    """Values of expressions at the same sizes; each function in them is computed once.

    The value of an expression is that of ``Expr.evaluate``.
    """

    def __init__(self, sizes: Mapping[str, Number]) -> None:
        self._known: dict[Atom, Number] = dict(sizes.items())

    def atom(self, atom: Atom) -> Number:
        """Value of a symbol or a function."""
        found = self._known.get(atom)
        if found is None:
            if isinstance(atom, str):
                raise AlgebraError(_("a size is missing"), given=atom)
            found = self._known[atom] = _NUMERIC[atom.name](*(self.of(a) for a in atom.args))
        return found

    def of(self, expr: Expr) -> Number:
        """Value of an expression: exact unless a logarithm makes it a float."""
        total: Number = 0
        for mono, coefficient in expr.terms.items():
            value: Number = coefficient
            for atom, power in mono:
                base = self.atom(atom)
                if power < 0 and isinstance(base, int):
                    base = Fraction(base)
                value = value * base**power
            total = total + value
        if isinstance(total, Fraction) and total.denominator == 1:
            return total.numerator
        return total


@lru_cache(maxsize=256)
def abbreviations(exprs: tuple[Expr, ...]) -> Mapping[Func, str]:
    """Names for the functions in ``exprs`` that are too long to stand in a term: u_1, u_2, ..."""
    found: dict[Func, str] = {}
    for expr in exprs:
        for mono, _coefficient in expr.ordered():
            for atom, _power in mono:
                if isinstance(atom, Func) and atom not in found:
                    text = formula(Expr({((atom, 1),): 1}))
                    if len(text) > _LONG:
                        found[atom] = f"u_{len(found) + 1}"
    return found


def split(expr: Expr, names: Mapping[Func, str] | None = None) -> tuple[Term, ...]:
    """The terms of ``expr`` side by side, those of the highest degree first.

    Functions in ``names`` are written by their name.
    """
    return _split(expr, tuple((names or {}).items()))


@lru_cache(maxsize=2048)
def _split(expr: Expr, names: tuple[tuple[Func, str], ...]) -> tuple[Term, ...]:
    short = dict(names)
    found = []
    for mono, coefficient in expr.ordered():
        size = abs(Fraction(coefficient))
        shown = tuple(
            (short.get(atom, atom) if isinstance(atom, Func) else atom, power)
            for atom, power in mono
        )
        found.append(
            Term(
                expr=Expr({mono: coefficient}),
                text=_text(*_sides((shown, size), _text_power)),
                latex=_latex(*_sides((shown, size), _latex_power)),
                negative=coefficient < 0,
            )
        )
    return tuple(found)


def symbol_text(name: str) -> str:
    """A symbol as text: u_1 is u₁."""
    head, _bar, below = name.partition("_")
    return head + below.translate(_LOWERED) if below.isdigit() else name


def numbers(term: Term, at: Evaluator) -> str:
    """A term with numbers for its symbols: "8·1·4096·512²"; a function is its value."""
    ((mono, coefficient),) = term.expr.terms.items()

    def power(atom: Atom, exponent: int) -> str:
        return _figure(at.atom(atom)) + _raised(exponent)

    return _text(*_sides((mono, abs(Fraction(coefficient))), power))


def summed(terms: tuple[Term, ...]) -> str:
    """Terms as one line of text."""
    text = ""
    for term in terms:
        sign = "−" if term.negative else "+"
        text += f" {sign} {term.text}" if text else ("−" if term.negative else "") + term.text
    return text or "0"


def exact(value: Number, unit: str) -> str:
    """All digits of a value with its unit: "43 616 567 296 FLOP"."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value!r} {unit}".strip()
    return f"{format_value(int(value), '')} {unit}".strip()


def _figure(value: Number) -> str:
    if isinstance(value, Fraction) or (isinstance(value, float) and not value.is_integer()):
        return f"{float(value):.6g}"
    return str(int(value))


def _factors(mono: Monomial) -> list[tuple[Atom, int]]:
    """Factors as people write them: sizes in the usual order, then other symbols, functions."""

    def key(item: tuple[Atom, int]) -> tuple[int, int, str]:
        atom = item[0]
        if isinstance(atom, str):
            return (0, _ORDER.get(atom, len(_ORDER)), atom)
        return (1, 0, str(atom))

    return sorted(mono, key=key)


def _sides(
    term: tuple[Monomial, Fraction], write: Callable[[Atom, int], str]
) -> tuple[list[str], list[str]]:
    """What stands above the line and below it."""
    mono, size = term
    above = [write(atom, power) for atom, power in _factors(mono) if power > 0]
    below = [write(atom, -power) for atom, power in _factors(mono) if power < 0]
    if size.numerator != 1 or not above:
        above.insert(0, str(size.numerator))
    if size.denominator != 1:
        below.insert(0, str(size.denominator))
    return above, below


def _text(above: list[str], below: list[str]) -> str:
    under = "·".join(below)
    line = "·".join(above)
    return f"{line}/({under})" if len(below) > 1 else f"{line}/{under}" if below else line


def _latex(above: list[str], below: list[str]) -> str:
    line = _spaced(above)
    return rf"\frac{{{line}}}{{{_spaced(below)}}}" if below else line


def _spaced(factors: list[str]) -> str:
    """Factors side by side; words and functions stand off, letters do not."""
    text = factors[0]
    for before, factor in pairwise(factors):
        thin = "\\" in before or "\\" in factor
        text += (r"\, " if thin else " ") + factor
    return text


def _text_power(atom: Atom, power: int) -> str:
    if isinstance(atom, str):
        base = symbol_text(atom)
    else:
        base = formula(Expr({((atom, 1),): 1}))
        if power != 1 and atom.name not in _BARE:
            base = f"({base})"
    return base + _raised(power)


def _latex_power(atom: Atom, power: int) -> str:
    if isinstance(atom, str):
        base = name(atom)
    else:
        base = latex(Expr({((atom, 1),): 1}))
        if power != 1 and atom.name not in _BARE:
            base = rf"\left({base}\right)"
    return base if power == 1 else f"{base}^{{{power}}}"


def _raised(power: int) -> str:
    return "" if power == 1 else str(power).translate(_RAISED)
