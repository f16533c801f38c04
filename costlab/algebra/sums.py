"""Exact division of polynomials, and closed forms of sums over a pass number."""

from __future__ import annotations

import math
from fractions import Fraction

from costlab.algebra.expr import (
    Atom,
    Coefficient,
    Expr,
    Func,
    Monomial,
    Size,
    as_expr,
    atom_key,
    merge,
)
from costlab.errors import AlgebraError


def _lowest_powers(expr: Expr) -> Monomial:
    """The monomial of each atom's lowest power (0 where a term lacks it): a common factor."""
    lowest: dict[Atom, int] = {}
    for atom in expr.atoms():
        lowest[atom] = min(dict(mono).get(atom, 0) for mono in expr.terms)
    return tuple((atom, lowest[atom]) for atom in sorted(lowest, key=atom_key) if lowest[atom])


def exact_div(a: Size, b: Size) -> Expr:
    """Return the quotient ``a / b`` where ``b`` divides ``a`` (negative powers allowed in both).

    Raises:
        AlgebraError: if the division leaves a remainder.
    """
    numerator, denominator = as_expr(a), as_expr(b)
    if not denominator.terms:
        raise AlgebraError("division by zero", given=str(a))
    if not numerator.terms:
        return numerator
    if len(denominator.terms) == 1:
        return numerator / denominator
    above, below = _lowest_powers(numerator), _lowest_powers(denominator)
    factor = Expr({above: 1}) / Expr({below: 1})
    rest, divisor = numerator / Expr({above: 1}), denominator / Expr({below: 1})
    order = sorted(rest.atoms() | divisor.atoms(), key=atom_key)

    def degree(mono: Monomial) -> tuple[int, ...]:
        powers = dict(mono)
        return tuple(powers.get(atom, 0) for atom in order)

    lead = max(divisor.terms, key=degree)
    quotient: dict[Monomial, Coefficient] = {}
    while rest.terms:
        top = max(rest.terms, key=degree)
        mono = merge(top, tuple((atom, -power) for atom, power in lead))
        if any(power < 0 for _, power in mono):
            raise AlgebraError("does not divide", given=f"({numerator}) / ({denominator})")
        coefficient = Fraction(rest.terms[top]) / divisor.terms[lead]
        quotient[mono] = coefficient
        rest = rest - Expr({mono: coefficient}) * divisor
    return Expr(quotient) * factor


def _bernoulli(count: int) -> list[Fraction]:
    numbers = [Fraction(1)]
    for m in range(1, count + 1):
        numbers.append(
            -sum((math.comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0)) / (m + 1)
        )
    return numbers


def _power_sum(power: int, upper: Expr) -> Expr:
    """``sum(t**power for t in range(1, upper + 1))`` as a polynomial (Faulhaber)."""
    bernoulli = _bernoulli(power)
    result = Expr({})
    for k in range(power + 1):
        sign = -1 if k == 1 else 1  # B1 = +1/2 for sums that include the upper end
        factor = Fraction(sign * math.comb(power + 1, k)) * bernoulli[k] / (power + 1)
        result = result + upper ** (power + 1 - k) * factor
    return result


def sum_range(term: Size, index: str, first: Size, last: Size) -> Expr:
    """``sum(term for index in first..last)``, both ends included, in closed form.

    Raises:
        AlgebraError: if ``term`` is not a polynomial in ``index``.
    """
    term = as_expr(term)
    by_power: dict[int, dict[Monomial, Coefficient]] = {}
    for mono, coefficient in term.terms.items():
        power = 0
        rest: list[tuple[Atom, int]] = []
        for atom, exponent in mono:
            if atom == index:
                power = exponent
            elif isinstance(atom, Func) and any(index in a.symbols() for a in atom.args):
                raise AlgebraError("not a polynomial in the pass number", given=str(term))
            else:
                rest.append((atom, exponent))
        if power < 0:
            raise AlgebraError("not a polynomial in the pass number", given=str(term))
        by_power.setdefault(power, {})[tuple(rest)] = coefficient
    result = Expr({})
    below, upper = as_expr(first) - 1, as_expr(last)
    for power, terms in by_power.items():
        span = _power_sum(power, upper) - _power_sum(power, below)
        result = result + Expr(terms) * span
    return result
