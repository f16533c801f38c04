"""Orders of growth: the leading terms of a formula, and the comparison with what a paper claims.

A term is *leading* iff in some regime of growth it strictly exceeds every other: symbol i grows
as t**y_i with y_i >= 0, obeying the domain (``w <= n`` or ``w divides n`` mean y_w <= y_n), and a
logarithm grows more slowly than any power of its argument. Terms that another one bounds power
by power do not count among the others. Coefficients are dropped, negative terms ignored; a
``Max`` has the leading terms of its candidates together.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from costlab.algebra import Expr, Func, Monomial, Size, apply, as_expr, symbol
from costlab.arch.spec import Claim
from costlab.formulas.cone import Vector, direction
from costlab.formulas.growth import Cell, cells, maximal
from costlab.formulas.record import Condition
from costlab.formulas.text import parse

_FIXED = re.compile(r"(\w+) fixed")


def order(expr: Size, domain: Iterable[Condition] = (), constants: Collection[str] = ()) -> Expr:
    """Return the leading monomials of ``expr``, each with coefficient 1 (0 for 0, 1 for numbers).

    ``constants`` are symbols that do not grow (a fixed window, a machine's rates).

    >>> str(order(parse("n**2 + n*d + d**2")))
    'd**2 + n**2'
    """
    domain = tuple(domain)
    fixed, same = _equalities(domain)
    prepared = as_expr(expr).subs(same)
    still = fixed | set(constants)
    leading: set[Monomial] = set()
    for cell in cells(prepared):
        leading |= _leading(_without(cell, still), _relations(domain, same))
    return Expr(dict.fromkeys(leading, 1))


def order_in(expr: Size, name: str) -> tuple[int, int]:
    """Return the highest power of symbol ``name`` and its log power, all else constant.

    ``8*b*n*d**2 + 4*b*n**2*d`` is (2, 0) in n; ``n*log(n, 2)`` is (1, 1).
    """
    return _degree(as_expr(expr), name) or (0, 0)


def order_in_expr(expr: Size, name: str) -> Expr:
    """Return :func:`order_in` as an expression: ``n**2``, ``n*log(n, 2)``, ``1``."""
    power, log_power = order_in(expr, name)
    return symbol(name) ** power * apply("log2", symbol(name)) ** log_power


def comparable(derived: Size, claim: Claim, domain: Iterable[Condition] = ()) -> tuple[Expr, Expr]:
    """Return the order of ``derived`` and that of ``claim`` in the claim's own terms.

    ``derived`` is the formula (or the order) of the claim's quantity and scope. A claim about
    one variable is compared in that variable alone, a claim about several with the others
    constant, a claim without variables in all; "w fixed" among its conditions makes w constant.
    """
    domain = tuple(domain)
    ours, theirs = as_expr(derived), parse(claim.order)
    if len(claim.variables) == 1:
        return order_in_expr(ours, claim.variables[0]), order_in_expr(theirs, claim.variables[0])
    constants = {match[1] for text in claim.conditions if (match := _FIXED.match(text))}
    if claim.variables:
        constants |= (ours.symbols() | theirs.symbols()) - set(claim.variables)
    return order(ours, domain, constants), order(theirs, domain, constants)


def agrees(derived: Size, claim: Claim, domain: Iterable[Condition] = ()) -> bool:
    """Whether the derived formula has the order that a paper claims (see :func:`comparable`)."""
    ours, theirs = comparable(derived, claim, domain)
    return ours == theirs


def _degree(expr: Expr, name: str) -> tuple[int, int] | None:
    """Highest (power, log power) of ``name`` among the positive terms; None where there is none."""
    best: tuple[int, int] | None = None
    for mono, coefficient in expr:
        if coefficient <= 0:
            continue
        power = log_power = 0
        for atom, exponent in mono:
            inner = _atom_degree(atom, name)
            power += exponent * inner[0]
            log_power += exponent * inner[1]
        best = max(best or (power, log_power), (power, log_power))
    return best


def _atom_degree(atom: str | Func, name: str) -> tuple[int, int]:
    if isinstance(atom, str):
        return (int(atom == name), 0)
    inner = [_degree(arg, name) or (0, 0) for arg in atom.args]
    match atom.name:
        case "Min":
            return min(inner)
        case "log2":
            return (0, int(inner[0][0] > 0))
        case "ceiling":
            return max(inner[0], (0, 0))
    return max(inner)


def _equalities(domain: Sequence[Condition]) -> tuple[set[str], dict[str, Size]]:
    """Symbols that the domain fixes to a number, and those that it makes equal to another."""
    fixed: set[str] = set()
    same: dict[str, Size] = {}
    for condition in domain:
        if condition.kind != "==":
            continue
        if isinstance(condition.right, str):
            same[condition.left] = symbol(condition.right)
        else:
            fixed.add(condition.left)
    return fixed, same


def _relations(
    domain: Sequence[Condition], same: Mapping[str, Size]
) -> tuple[tuple[str, str], ...]:
    """Pairs (a, b) of symbols with a <= b throughout the domain."""
    pairs: list[tuple[str, str]] = []
    for condition in domain:
        if isinstance(condition.right, str):
            left, right = (str(same.get(s, s)) for s in (condition.left, condition.right))
            if condition.kind in ("<=", "divides"):
                pairs.append((left, right))
            elif condition.kind == ">=":
                pairs.append((right, left))
    return tuple(pairs)


def _without(cell: Cell, still: Collection[str]) -> Cell:
    """The cell with the symbols ``still`` as constants, inside logarithms too."""
    if not still:
        return cell

    def drop(mono: Monomial) -> Monomial:
        kept: list[tuple[str | Func, int]] = []
        for atom, power in mono:
            if isinstance(atom, str):
                if atom not in still:
                    kept.append((atom, power))
                continue
            argument = drop(_argument(atom))
            if any(p > 0 for _atom, p in argument):
                kept.append((Func("log2", (Expr({argument: 1}),)), power))
        return tuple(kept)

    return Cell(
        frozenset(drop(mono) for mono in cell.monomials),
        tuple((drop(small), drop(large)) for small, large in cell.below),
    )


def _argument(log: Func) -> Monomial:
    (mono,) = log.args[0].terms
    return mono


@dataclass(frozen=True, slots=True)
class _Point:
    """A monomial as a vector of powers, and its powers of logarithms."""

    mono: Monomial
    powers: Vector
    logs: Mapping[Func, int]


def _leading(cell: Cell, relations: Sequence[tuple[str, str]]) -> set[Monomial]:
    pairs = [mono for pair in cell.below for mono in pair]
    names = sorted(
        {name for mono in [*cell.monomials, *pairs] for name in Expr({mono: 1}).symbols()}
        | {name for pair in relations for name in pair}
    )

    def vector(mono: Monomial) -> Vector:
        powers = dict(mono)
        return tuple(powers.get(name, 0) for name in names)

    def difference(large: Vector, small: Vector) -> Vector:
        return tuple(x - y for x, y in zip(large, small, strict=True))

    cone = [difference(vector(((b, 1),)), vector(((a, 1),))) for a, b in relations]
    # Strictly inside the cell: on its border another cell has the same growth by another name.
    inside = [
        row for small, large in cell.below if any(row := difference(vector(large), vector(small)))
    ]
    points = [
        _Point(mono, vector(mono), {a: p for a, p in mono if isinstance(a, Func)})
        for mono in sorted(maximal(cell.monomials), key=str)
    ]
    logs = sorted({log for point in points for log in point.logs}, key=str)
    leading: set[Monomial] = set()
    for count in range(len(logs) + 1):
        for growing in combinations(logs, count):
            arguments = {log: vector(_argument(log)) for log in logs}
            strict = inside + [arguments[log] for log in growing]
            weak = [tuple(-x for x in arguments[log]) for log in logs if log not in growing]
            regime = _Regime(points, growing, strict, cone + weak)
            leading |= {p.mono for p in points if p.mono not in leading and regime.leads(p)}
    return leading


@dataclass(frozen=True, slots=True)
class _Regime:
    """Directions of a cone in which exactly the logarithms ``growing`` grow."""

    points: Sequence[_Point]
    growing: Sequence[Func]
    strict: Sequence[Vector]
    weak: Sequence[Vector]

    def leads(self, point: _Point) -> bool:
        """Whether ``point`` strictly exceeds all others in some direction of the regime.

        The program starts with no rival and takes in those that a found direction leaves
        unbeaten, until there is none or no direction is left.
        """
        positive, nonnegative = list(self.strict), list(self.weak)
        rivals = [self._against(point, other) for other in self.points if other is not point]
        while True:
            if positive:
                found = direction(positive, nonnegative)
            else:
                found = (0,) * len(point.powers)
            if found is None:
                return False
            unbeaten = sorted(
                (margin, row, needs_more)
                for row, needs_more in rivals
                if (margin := sum(x * y for x, y in zip(row, found, strict=True))) < needs_more
            )
            if not unbeaten:
                return True
            for _margin, row, needs_more in unbeaten[:4]:
                (positive if needs_more else nonnegative).append(row)

    def _against(self, point: _Point, other: _Point) -> tuple[Vector, int]:
        """The lead over ``other`` as a linear form, and 1 if it must be positive, else 0."""
        row = tuple(x - y for x, y in zip(point.powers, other.powers, strict=True))
        mine = sum(point.logs.get(log, 0) for log in self.growing)
        return row, int(mine <= sum(other.logs.get(log, 0) for log in self.growing))
