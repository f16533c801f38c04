"""How the terms of an expression grow: monomials without coefficients, functions resolved.

A sum or ``Max`` grows as its largest term, so both become a set of monomials; negative terms are
left out. ``ceiling(x)`` grows as ``Max(x, 1)``, ``floor(x)`` as ``x``, a logarithm of a monomial
is an atom of its own. ``Min`` grows differently in different directions: each :class:`Cell` is a
set of directions in which it is one of its arguments. A ``Min`` with a constant is constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd

from costlab.algebra import Expr, Func, Monomial, apply, symbol

ONE: Monomial = ()
_MAX_CELLS = 64


@dataclass(frozen=True, slots=True)
class Cell:
    """Monomials whose maximum is the growth, where each ``below`` pair (small, large) holds."""

    monomials: frozenset[Monomial]
    below: tuple[tuple[Monomial, Monomial], ...] = ()


def cells(expr: Expr) -> tuple[Cell, ...]:
    """Return the growth of ``expr`` as cells that together cover all directions."""
    found: list[Cell] = []
    waiting: list[tuple[Expr, tuple[tuple[Monomial, Monomial], ...]]] = [(expr, ())]
    while waiting:
        current, below = waiting.pop()
        atom = _first_choice(current)
        if atom is None:
            found.append(Cell(frozenset(monomials(current)), below))
            continue
        options = list(_options(atom))
        if len(found) + len(waiting) + len(options) > _MAX_CELLS:
            # Each argument bounds a Min from above: the order stays an upper bound.
            options = [(options[0][0], ())]
        for replacement, conditions in options:
            waiting.append((replace(current, {atom: replacement}), below + conditions))
    return tuple(found)


def replace(expr: Expr, atoms: Mapping[Func, Expr]) -> Expr:
    """Replace function atoms, also inside other functions."""
    total = Expr({})
    for mono, coefficient in expr:
        term = Expr({ONE: coefficient})
        for atom, power in mono:
            if isinstance(atom, str):
                base = symbol(atom)
            elif atom in atoms:
                base = atoms[atom]
            else:
                base = apply(atom.name, *(replace(arg, atoms) for arg in atom.args))
            term = term * base**power
        total = total + term
    return total


def monomials(expr: Expr) -> set[Monomial]:
    """Growth of an expression in which no ``Min`` and no inverse of a sum is left."""
    grown: set[Monomial] = set()
    for mono, coefficient in expr:
        if coefficient > 0:
            factors = [_atom_growth(atom, power) for atom, power in mono]
            grown |= {_multiply(choice) for choice in product(*factors)}
    return maximal(grown)


def maximal(grown: Iterable[Monomial]) -> set[Monomial]:
    """Leave out monomials that another one bounds power by power."""
    kept: list[dict[str | Func, int]] = []
    for powers in sorted((dict(m) for m in set(grown)), key=lambda p: -sum(p.values())):
        if not any(_bounds(other, powers) for other in kept):
            kept.append(powers)
    return {_monomial(powers) for powers in kept}


def _bounds(large: Mapping[str | Func, int], small: Mapping[str | Func, int]) -> bool:
    return all(large.get(a, 0) >= small.get(a, 0) for a in large.keys() | small.keys())


def _monomial(powers: Mapping[str | Func, int]) -> Monomial:
    (mono,) = _multiply_terms(Expr({((atom, power),): 1}) for atom, power in powers.items()).terms
    return mono


def _multiply(factors: Iterable[Monomial]) -> Monomial:
    (mono,) = _multiply_terms(Expr({factor: 1}) for factor in factors).terms
    return mono


def _multiply_terms(factors: Iterable[Expr]) -> Expr:
    result = Expr({ONE: 1})
    for factor in factors:
        result = result * factor
    return result


def _atom_growth(atom: str | Func, power: int) -> set[Monomial]:
    if isinstance(atom, str):
        return {((atom, power),)}
    return {tuple((a, p * power) for a, p in mono) for mono in _function_growth(atom)}


def _function_growth(atom: Func) -> set[Monomial]:
    inner: set[Monomial] = set()
    for arg in atom.args:
        inner |= monomials(arg)
    if atom.name == "log2":
        return {_logarithm(mono) for mono in inner} or {ONE}
    if atom.name == "ceiling":
        inner.add(ONE)
    return maximal(inner)


def _logarithm(mono: Monomial) -> Monomial:
    """``log2`` of a monomial as an atom: powers and inner logarithms change only a constant."""
    powers = {atom: power for atom, power in mono if isinstance(atom, str)}
    if not powers:
        return ONE
    common = gcd(*powers.values())
    argument = _monomial({atom: power // common for atom, power in powers.items()})
    return ((Func("log2", (Expr({argument: 1}),)), 1),)


def _first_choice(expr: Expr) -> Func | None:
    """An innermost atom whose growth depends on the direction, or None."""
    for mono, _coefficient in expr:
        for atom, power in mono:
            if isinstance(atom, str):
                continue
            for arg in atom.args:
                inner = _first_choice(arg)
                if inner is not None:
                    return inner
            if atom.name == "Min" or (power < 0 and atom.name != "log2"):
                return atom
            if power < 0 and len(_function_growth(atom)) > 1:
                return atom
    return None


def _options(atom: Func) -> Iterator[tuple[Expr, tuple[tuple[Monomial, Monomial], ...]]]:
    """What ``atom`` grows as, and the conditions (small, large) under which it does."""
    if atom.name != "Min":
        grown = sorted(_function_growth(atom), key=str) or [ONE]
        for lead in grown:
            others = tuple((other, lead) for other in grown if other != lead)
            yield Expr({lead: 1}), others
        return
    sides = [sorted(monomials(arg), key=str) for arg in atom.args]
    if any(side in ([], [ONE]) for side in sides):
        yield Expr({ONE: 1}), ()
        return
    for i, side in enumerate(sides):
        rest = sides[:i] + sides[i + 1 :]
        for witnesses in product(*rest):
            conditions = tuple((mono, witness) for witness in witnesses for mono in side)
            yield Expr(dict.fromkeys(side, 1)), conditions
