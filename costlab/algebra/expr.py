"""Expressions: sums of terms, each a rational coefficient times powers of symbols and functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Union

from costlab.errors import AlgebraError

Coefficient = Union[int, Fraction]
Number = Union[int, float, Fraction]


@dataclass(frozen=True, slots=True)
class Func:
    """A function atom: ``name`` in {"log2", "ceiling", "floor", "Max", "Min"}."""

    name: str
    args: tuple[Expr, ...]

    def __str__(self) -> str:
        inner = ", ".join(str(a) for a in self.args)
        return f"log({inner}, 2)" if self.name == "log2" else f"{self.name}({inner})"


Atom = Union[str, Func]
Monomial = tuple[tuple[Atom, int], ...]
Size = Union[int, "Expr"]


@lru_cache(maxsize=4096)
def atom_key(atom: Atom) -> tuple[int, str]:
    return (0, atom) if isinstance(atom, str) else (1, str(atom))


def _normal(value: Coefficient) -> Coefficient:
    # Fraction is an abstract base class: asking whether an int is one is slow.
    if type(value) is not int and isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


@lru_cache(maxsize=1 << 16)
def merge(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials; remembered, since the same few recur."""
    if not a:
        return b
    if not b:
        return a
    powers: dict[Atom, int] = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(((k, v) for k, v in powers.items() if v), key=lambda kv: atom_key(kv[0])))


class Expr:
    """An immutable exact expression. Build with :func:`symbol` and ordinary operators."""

    __slots__ = ("_hash", "terms")

    terms: dict[Monomial, Coefficient]

    def __init__(self, terms: Mapping[Monomial, Coefficient]) -> None:
        self.terms = {m: c if type(c) is int else _normal(c) for m, c in terms.items() if c}
        self._hash: int | None = None

    # -- construction and inspection ---------------------------------------------------------

    @property
    def is_constant(self) -> bool:
        return not self.terms or (len(self.terms) == 1 and () in self.terms)

    def constant(self) -> Coefficient:
        """Return the value of a constant expression; raise ``AlgebraError`` otherwise."""
        if not self.is_constant:
            raise AlgebraError("expression depends on sizes", given=str(self))
        return self.terms.get((), 0)

    def atoms(self) -> frozenset[Atom]:
        return frozenset(atom for mono in self.terms for atom, _ in mono)

    def symbols(self) -> frozenset[str]:
        """All symbol names, those inside functions included."""
        names: set[str] = set()
        for atom in self.atoms():
            if isinstance(atom, str):
                names.add(atom)
            else:
                for arg in atom.args:
                    names |= arg.symbols()
        return frozenset(names)

    def __iter__(self) -> Iterator[tuple[Monomial, Coefficient]]:
        return iter(self.terms.items())

    # -- arithmetic --------------------------------------------------------------------------

    def __add__(self, other: Size | Fraction) -> Expr:
        other = as_expr(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        terms = dict(self.terms)
        for mono, coefficient in other.terms.items():
            terms[mono] = terms.get(mono, 0) + coefficient
        return Expr(terms)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return Expr({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Size | Fraction) -> Expr:
        return self + (-as_expr(other))

    def __rsub__(self, other: Size | Fraction) -> Expr:
        return as_expr(other) - self

    def __mul__(self, other: Size | Fraction) -> Expr:
        if type(other) is int:
            return self if other == 1 else Expr({m: c * other for m, c in self.terms.items()})
        other = as_expr(other)
        terms: dict[Monomial, Coefficient] = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in other.terms.items():
                mono = merge(m1, m2)
                terms[mono] = terms.get(mono, 0) + c1 * c2
        return Expr(terms)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Expr:
        if not isinstance(power, int):
            raise AlgebraError("powers must be integers", given=repr(power))
        if power < 0:
            return 1 / self**-power
        result = Expr({(): 1})
        for _ in range(power):
            result = result * self
        return result

    def __truediv__(self, other: Size | Fraction) -> Expr:
        other = as_expr(other)
        if len(other.terms) != 1:
            from costlab.algebra.sums import exact_div  # division is built of products

            return exact_div(self, other)
        ((mono, coefficient),) = other.terms.items()
        inverse: Monomial = tuple((atom, -power) for atom, power in mono)
        return self * Expr({inverse: Fraction(1) / coefficient})

    def __rtruediv__(self, other: Size | Fraction) -> Expr:
        return as_expr(other) / self

    # -- comparison --------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, Fraction)):
            return self.is_constant and self.constant() == other
        return isinstance(other, Expr) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            if self.is_constant:
                self._hash = hash(self.constant())
            else:
                self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    # -- substitution and evaluation ---------------------------------------------------------

    def subs(self, values: Mapping[str, Size | Fraction]) -> Expr:
        """Replace symbols, also inside functions."""
        from costlab.algebra.functions import apply  # functions are built of expressions

        if not (self.symbols() & values.keys()):
            return self
        total = Expr({})
        for mono, coefficient in self.terms.items():
            product = Expr({(): coefficient})
            for atom, power in mono:
                if isinstance(atom, str):
                    base = as_expr(values.get(atom, Expr({((atom, 1),): 1})))
                else:
                    base = apply(atom.name, *(a.subs(values) for a in atom.args))
                product = product * base**power
            total = total + product
        return total

    def evaluate(self, sizes: Mapping[str, Number]) -> Number:
        """Value at ``sizes``: exact (int or Fraction) unless a logarithm makes it a float."""
        total: Number = 0
        for mono, coefficient in self.terms.items():
            value: Number = coefficient
            for atom, power in mono:
                base: Number
                if isinstance(atom, str):
                    if atom not in sizes:
                        raise AlgebraError("a size is missing", given=atom)
                    base = sizes[atom]
                else:
                    base = _NUMERIC[atom.name](*(a.evaluate(sizes) for a in atom.args))
                if power == 1:
                    value = value * base
                    continue
                if power < 0 and isinstance(base, int):
                    base = Fraction(base)
                value = value * base**power
            total = total + value
        return _normal(total) if isinstance(total, Fraction) else total

    def ordered(self) -> list[tuple[Monomial, Coefficient]]:
        """Terms in the order they are written: highest degree first, then by name."""
        return sorted(self.terms.items(), key=_term_key)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts: list[str] = []
        for mono, coefficient in self.ordered():
            text = _term_text(mono, -coefficient if coefficient < 0 else coefficient)
            sign = "-" if coefficient < 0 else "+"
            parts.append(f"{sign} {text}" if parts else (f"-{text}" if sign == "-" else text))
        return " ".join(parts)

    def __repr__(self) -> str:
        return f"Expr({self})"


def _term_key(item: tuple[Monomial, Coefficient]) -> tuple[int, str]:
    mono, _ = item
    return (-sum(power for _, power in mono), str([(str(a), p) for a, p in mono]))


def _term_text(mono: Monomial, coefficient: Coefficient) -> str:
    upper = [str(a) if p == 1 else f"{a}**{p}" for a, p in mono if p > 0]
    lower = [str(a) if p == -1 else f"{a}**{-p}" for a, p in mono if p < 0]
    value = Fraction(coefficient)
    if value.numerator != 1 or not upper:
        upper.insert(0, str(value.numerator))
    if value.denominator != 1:
        lower.insert(0, str(value.denominator))
    return "*".join(upper) + "".join(f"/{part}" for part in lower)


def as_expr(value: Size | Fraction) -> Expr:
    """Return ``value`` as an expression (ints and fractions become constants)."""
    if type(value) is Expr:
        return value
    if type(value) is int or isinstance(value, (int, Fraction)):
        return Expr({(): value})
    raise AlgebraError("not an exact size", given=repr(value), allowed="int, Fraction or Expr")


def symbol(name: str) -> Expr:
    """Return the expression that is the symbol ``name``."""
    return Expr({((name, 1),): 1})


def simplest(value: Size) -> Size:
    """Return an int where ``value`` is a constant integer, else ``value``."""
    if isinstance(value, Expr) and value.is_constant:
        constant = value.constant()
        if isinstance(constant, int):
            return constant
    return value


def integer(size: Size) -> int:
    """Return a size that is a number as an int.

    Raises:
        AlgebraError: if it depends on symbols, or is no integer.
    """
    value = simplest(size)
    if not isinstance(value, int):
        raise AlgebraError("not an integer", given=str(size))
    return value


def product(sizes: Iterable[Size]) -> Size:
    """Product of sizes; 1 if there are none."""
    result: Size = 1
    for size in sizes:
        result = result * size
    return result


def total(sizes: Iterable[Size]) -> Size:
    """Sum of sizes, in one pass (faster than repeated ``+`` for many terms)."""
    number: Coefficient = 0
    terms: dict[Monomial, Coefficient] = {}
    for size in sizes:
        if isinstance(size, Expr):
            for mono, coefficient in size.terms.items():
                terms[mono] = terms.get(mono, 0) + coefficient
        else:
            number += size
    if not terms:
        return _normal(number)  # type: ignore[return-value]
    terms[()] = terms.get((), 0) + number
    return Expr(terms)


_NUMERIC: Mapping[str, Callable[..., Number]] = {
    "log2": lambda x: math.log2(x),
    "ceiling": lambda x: math.ceil(x),
    "floor": lambda x: math.floor(x),
    "Max": lambda *xs: max(xs),
    "Min": lambda *xs: min(xs),
}
