"""An expression as a person would write it: a tree of nested sums, products and calls.

:func:`arrange` takes out common factors and groups terms where that makes the text shorter; the
writers (text in :mod:`costlab.formulas.simplify`, LaTeX) only walk the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Union

from costlab.algebra import Atom, Coefficient, Expr, Func, Monomial, exact_div
from costlab.errors import AlgebraError

_GROUPED_TERMS = 6


@dataclass(frozen=True, slots=True)
class Call:
    """A function of sums; ``name`` as in :class:`costlab.algebra.Func`."""

    name: str
    args: tuple[Sum, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """``coefficient`` times bases to integer powers."""

    coefficient: Fraction
    factors: tuple[tuple[Base, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Sum:
    """Products to be added, in the order they are written; none means 0."""

    parts: tuple[Product, ...]


Base = Union[str, Call, Sum]


def write(tree: Sum) -> str:
    """Return ``tree`` as text in the grammar of :mod:`costlab.formulas.text`."""
    return join_signed(tree, _write_product)


def join_signed(tree: Sum, write_product: Callable[[Product], str], minus: str = "-") -> str:
    """The products of ``tree`` with their signs between them.

    Args:
        tree: the sum.
        write_product: writes a product without its sign.
        minus: the sign before the first product, where it is negative.
    """
    if not tree.parts:
        return "0"
    text = ""
    for part in tree.parts:
        sign = "-" if part.coefficient < 0 else "+"
        body = write_product(part)
        text += f" {sign} {body}" if text else (minus if sign == "-" else "") + body
    return text


def _write_product(part: Product) -> str:
    above = [_write_power(base, power) for base, power in part.factors if power > 0]
    below = [_write_power(base, -power) for base, power in part.factors if power < 0]
    value = abs(part.coefficient)
    if value.numerator != 1 or not above:
        above.insert(0, str(value.numerator))
    if value.denominator != 1:
        below.insert(0, str(value.denominator))
    line = "*".join(below)
    return "*".join(above) + (f"/({line})" if len(below) > 1 else f"/{line}" if below else "")


def _write_power(base: Base, power: int) -> str:
    if isinstance(base, str):
        text = base
    elif isinstance(base, Sum):
        text = f"({write(base)})"
    else:
        inner = ", ".join(write(arg) for arg in base.args)
        text = f"log({inner}, 2)" if base.name == "log2" else f"{base.name}({inner})"
    return text if power == 1 else f"{text}**{power}"


def _price(tree: Sum) -> int:
    """What reading ``tree`` costs: its length, minus signs counted more."""
    text = write(tree)
    return len(text) + 4 * text.count("-")


@lru_cache(maxsize=4096)
def arrange(expr: Expr) -> Sum:
    """Return ``expr`` with common factors taken out and terms grouped where that is shorter."""
    if len(expr.terms) < 2:
        return Sum(tuple(_product(mono, Fraction(c)) for mono, c in expr))
    content, common = _content(expr.terms.values()), _common(expr.terms)
    inside = _group(expr / Expr({common: content}))
    factored = Sum((multiply(_product(common, content), inside),))
    if common:
        return factored
    return inside if content == 1 else min(_group(expr), factored, key=_price)


def multiply(head: Product, inside: Sum, power: int = 1) -> Product:
    """``head * inside**power`` as one product."""
    if len(inside.parts) != 1:
        factors = _collect((*head.factors, (inside, power)))
        return Product(head.coefficient, factors)
    (alone,) = inside.parts
    factors = _collect((*head.factors, *((base, p * power) for base, p in alone.factors)))
    return Product(head.coefficient * alone.coefficient**power, factors)


def _product(mono: Monomial, coefficient: Fraction) -> Product:
    product = Product(coefficient)
    for atom, power in mono:
        base = _call(atom) if isinstance(atom, Func) else Product(Fraction(1), ((atom, 1),))
        product = multiply(product, Sum((base,)), power)
    return product


def _collect(factors: Iterable[tuple[Base, int]]) -> tuple[tuple[Base, int], ...]:
    """Equal bases joined, in the order they are written: symbols, functions, sums."""
    powers: dict[Base, int] = {}
    for base, power in factors:
        powers[base] = powers.get(base, 0) + power
    kept = [(base, power) for base, power in powers.items() if power]
    return tuple(sorted(kept, key=_base_key))


def _base_key(item: tuple[Base, int]) -> tuple[int, str]:
    base, power = item
    kind = 0 if isinstance(base, str) else 1 if isinstance(base, Call) else 2
    return kind, _write_power(base, power)


def _call(atom: Func) -> Product:
    """``atom``, with a factor that all its arguments share before it (sizes are positive)."""
    plain = Product(Fraction(1), ((Call(atom.name, tuple(map(arrange, atom.args))), 1),))
    if atom.name not in ("Max", "Min") or not all(arg.terms for arg in atom.args):
        return plain
    content = abs(_content(c for arg in atom.args for c in arg.terms.values()))
    shared = _common(mono for arg in atom.args for mono in arg.terms)
    common = tuple((a, p) for a, p in shared if isinstance(a, str))
    outside = Expr({common: content})
    call = Call(atom.name, tuple(arrange(arg / outside) for arg in atom.args))
    pulled = Product(content, (*common, (call, 1)))
    return min(plain, pulled, key=lambda product: _price(Sum((product,))))


def _content(coefficients: Iterable[Coefficient]) -> Fraction:
    """Greatest common factor of the coefficients, negative where all of them are."""
    values = [Fraction(c) for c in coefficients]
    size = Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))
    return -size if all(v < 0 for v in values) else size


def _common(terms: Iterable[Monomial]) -> Monomial:
    """The powers that all ``terms`` share: above the line or below it."""
    rows = [dict(mono) for mono in terms]
    shared: list[tuple[Atom, int]] = []
    for atom in rows[0]:
        powers = [row.get(atom, 0) for row in rows]
        if min(powers) > 0:
            shared.append((atom, min(powers)))
        elif max(powers) < 0:
            shared.append((atom, max(powers)))
    return tuple(shared)


def _group(expr: Expr) -> Sum:
    """The shortest of: the terms side by side, two groups, a product of two sums.

    Two groups only where both have a factor: a person leaves 84*b*d*n - 56*b*d + 8 as it is.
    """
    flat = _side_by_side(expr)
    if not 2 < len(expr.terms) <= _GROUPED_TERMS:
        return flat
    ways = [flat]
    for atom in expr.atoms():
        by_power: dict[int, dict[Monomial, Coefficient]] = {}
        for mono, coefficient in expr:
            by_power.setdefault(dict(mono).get(atom, 0), {})[mono] = coefficient
        highest = max(by_power)
        if highest <= 0:
            continue
        ways += _split(expr, Expr(by_power[highest]))
        inside = {m: c for power, terms in by_power.items() if power > 0 for m, c in terms.items()}
        rest = expr - Expr(inside)
        if len(inside) > 1 and len(rest.terms) > 1 and _common(rest.terms):
            ways.append(_in_order((*arrange(Expr(inside)).parts, *arrange(rest).parts)))
    return min(ways, key=lambda tree: (_price(tree), len(tree.parts), write(tree)))


def _split(expr: Expr, part: Expr) -> list[Sum]:
    """``expr`` as a product of two sums, if the terms ``part`` show one of them."""
    factor = part / Expr({_common(part.terms): _content(part.terms.values())})
    if not 1 < len(factor.terms) < len(expr.terms):
        return []
    try:
        other = exact_div(expr, factor)
    except AlgebraError:
        return []
    return [Sum((multiply(multiply(Product(Fraction(1)), arrange(factor)), arrange(other)),))]


def _side_by_side(expr: Expr) -> Sum:
    return _in_order(_product(mono, Fraction(c)) for mono, c in expr.ordered())


def _in_order(parts: Iterable[Product]) -> Sum:
    """Highest degree first, but no minus sign at the front where there is a plus."""
    ordered = sorted(parts, key=_degree, reverse=True)
    first = next((part for part in ordered if part.coefficient > 0), None)
    if first is not None and first is not ordered[0]:
        ordered.remove(first)
        ordered.insert(0, first)
    return Sum(tuple(ordered))


def _degree(part: Product) -> int:
    total = 0
    for base, power in part.factors:
        if isinstance(base, Sum):
            total += power * max(map(_degree, base.parts), default=0)
        else:
            total += power
    return total
