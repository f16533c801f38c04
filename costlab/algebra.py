"""Exact expressions of sizes: polynomials with rational coefficients over symbols and functions.

An :class:`Expr` is a sum of terms, each a rational coefficient times integer powers of *atoms*.
An atom is a symbol (its name) or one of a few functions (``log2``, ``ceiling``, ``floor``,
``Max``, ``Min``) of expressions. Plain ints work wherever an expression does, so a cost rule is
one piece of code for numbers and for formulas. Sizes are positive integers; nothing here knows
torch, sympy or numpy.
"""

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
def _atom_key(atom: Atom) -> tuple[int, str]:
    return (0, atom) if isinstance(atom, str) else (1, str(atom))


def _normal(value: Coefficient) -> Coefficient:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _merge(a: Monomial, b: Monomial) -> Monomial:
    if not a:
        return b
    if not b:
        return a
    powers: dict[Atom, int] = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(((k, v) for k, v in powers.items() if v), key=lambda kv: _atom_key(kv[0])))


class Expr:
    """An immutable exact expression. Build with :func:`symbol` and ordinary operators."""

    __slots__ = ("_hash", "terms")

    terms: dict[Monomial, Coefficient]

    def __init__(self, terms: Mapping[Monomial, Coefficient]) -> None:
        self.terms = {m: _normal(c) for m, c in terms.items() if c != 0}
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
        other = as_expr(other)
        terms: dict[Monomial, Coefficient] = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in other.terms.items():
                mono = _merge(m1, m2)
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
    if isinstance(value, Expr):
        return value
    if isinstance(value, (int, Fraction)):
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


# -- functions, the same for numbers and expressions --------------------------------------------


def _func(name: str, *args: Size | Fraction) -> Expr:
    return Expr({((Func(name, tuple(as_expr(a) for a in args)), 1),): 1})


def log2(x: Size) -> Expr | float:
    """Logarithm to base 2; a float for a number, an atom for an expression."""
    if isinstance(x, Expr) and not x.is_constant:
        return _func("log2", x)
    return math.log2(x.constant() if isinstance(x, Expr) else x)


def exact_log2(x: Size | Fraction) -> Size:
    """Logarithm to base 2 without rounding: an int for a power of two, else an atom."""
    if isinstance(x, Expr) and not x.is_constant:
        return _func("log2", x)
    value = x.constant() if isinstance(x, Expr) else x
    if isinstance(value, int) and value > 0 and value & (value - 1) == 0:
        return value.bit_length() - 1
    return _func("log2", value)


def ceiling(x: Size | Fraction) -> Size:
    """Least integer not below ``x``."""
    if isinstance(x, Expr) and not x.is_constant:
        return _func("ceiling", x)
    return math.ceil(x.constant() if isinstance(x, Expr) else x)


def floor(x: Size | Fraction) -> Size:
    """Greatest integer not above ``x``."""
    if isinstance(x, Expr) and not x.is_constant:
        return _func("floor", x)
    return math.floor(x.constant() if isinstance(x, Expr) else x)


def ceil_div(a: Size, b: Size) -> Size:
    """``ceiling(a / b)``: how many blocks of ``b`` cover ``a``."""
    if isinstance(a, Expr) or isinstance(b, Expr):
        return ceiling(as_expr(a) / b)
    return -(-a // b)


def _extreme(name: str, xs: tuple[Size | Fraction, ...]) -> Size:
    flat: dict[Expr, None] = {}
    numbers: list[Coefficient] = []
    for x in xs:
        expr = as_expr(x)
        if expr.is_constant:
            numbers.append(expr.constant())
            continue
        if len(expr.terms) == 1:
            ((mono, coefficient),) = expr.terms.items()
            if coefficient == 1 and len(mono) == 1 and mono[0][1] == 1:
                atom = mono[0][0]
                if isinstance(atom, Func) and atom.name == name:
                    for arg in atom.args:
                        if arg.is_constant:
                            numbers.append(arg.constant())
                        else:
                            flat[arg] = None
                    continue
        flat[expr] = None
    if numbers:
        flat[as_expr(max(numbers) if name == "Max" else min(numbers))] = None
    flat = _without_signed(name, flat)
    if len(flat) == 1:
        return simplest(next(iter(flat)))
    ordered = sorted(flat, key=str)
    return _func(name, *ordered)


def _without_signed(name: str, flat: dict[Expr, None]) -> dict[Expr, None]:
    """Drop what is sure to be on the wrong side of 0, where something is on the right side."""
    sign = 1 if name == "Max" else -1
    sums = [e for e in flat if not e.is_constant]
    good = {e for e in sums if _is_nonnegative(e * sign)}
    bad = {e for e in sums if _is_nonnegative(e * -sign)}
    numbers = {e for e in flat if e.is_constant}
    if not good and not any(e.constant() * sign >= 0 for e in numbers):
        return flat
    if good:
        bad |= {e for e in numbers if e.constant() * sign <= 0}
    return {e: None for e in flat if e not in bad}


def _is_nonnegative(expr: Expr) -> bool:
    """Whether no term of ``expr`` is negative: sizes are positive, a logarithm may not be."""
    return bool(expr.terms) and all(
        c > 0 and all(isinstance(a, str) or _atom_is_nonnegative(a) for a, _ in mono)
        for mono, c in expr.terms.items()
    )


def _atom_is_nonnegative(atom: Func) -> bool:
    return atom.name != "log2" and all(
        arg.constant() >= 0 if arg.is_constant else _is_nonnegative(arg) for arg in atom.args
    )


def maximum(*xs: Size | Fraction) -> Size:
    """Greatest of ``xs``; nested maxima are flattened."""
    return _extreme("Max", xs)


def minimum(*xs: Size | Fraction) -> Size:
    """Least of ``xs``; nested minima are flattened."""
    return _extreme("Min", xs)


def at_least(x: Size, bound: int) -> Size:
    """1 if the integer ``x`` is at least ``bound``, else 0, written with ``Min`` and ``Max``."""
    if isinstance(x, Expr) and not x.is_constant:
        return minimum(1, maximum(0, x - (bound - 1)))
    return int((x.constant() if isinstance(x, Expr) else x) >= bound)


_FUNCTIONS: Mapping[str, Callable[..., Size]] = {
    "log2": exact_log2,
    "ceiling": ceiling,
    "floor": floor,
    "Max": maximum,
    "Min": minimum,
}


def apply(name: str, *args: Size | Fraction) -> Expr:
    """The function ``name`` (as in :class:`Func`) of exact ``args``, simplified where constant."""
    return as_expr(_FUNCTIONS[name](*args))


_NUMERIC: Mapping[str, Callable[..., Number]] = {
    "log2": lambda x: math.log2(x),
    "ceiling": lambda x: math.ceil(x),
    "floor": lambda x: math.floor(x),
    "Max": lambda *xs: max(xs),
    "Min": lambda *xs: min(xs),
}


# -- division and sums --------------------------------------------------------------------------


def _lowest_powers(expr: Expr) -> Monomial:
    """The monomial of each atom's lowest power (0 where a term lacks it): a common factor."""
    lowest: dict[Atom, int] = {}
    for atom in expr.atoms():
        lowest[atom] = min(dict(mono).get(atom, 0) for mono in expr.terms)
    return tuple((atom, lowest[atom]) for atom in sorted(lowest, key=_atom_key) if lowest[atom])


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
    order = sorted(rest.atoms() | divisor.atoms(), key=_atom_key)

    def degree(mono: Monomial) -> tuple[int, ...]:
        powers = dict(mono)
        return tuple(powers.get(atom, 0) for atom in order)

    lead = max(divisor.terms, key=degree)
    quotient: dict[Monomial, Coefficient] = {}
    while rest.terms:
        top = max(rest.terms, key=degree)
        mono = _merge(top, tuple((atom, -power) for atom, power in lead))
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
