"""Orders of growth: the leading terms of a formula, and the comparison with what a paper claims.

A term is *leading* iff in some regime of growth it strictly exceeds every other: symbol i grows
as t**y_i with y_i >= 0, obeying the domain (``w <= n`` or ``w divides n`` mean y_w <= y_n); a
logarithm is a symbol of its own that stays below its argument. Coefficients are dropped, negative
terms ignored; a ``Max`` has the leading terms of its candidates together.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from costlab.algebra import Atom, Expr, Func, Monomial, Size, apply, as_expr, symbol
from costlab.arch.spec import Claim
from costlab.formulas.cone import Vector, direction
from costlab.formulas.growth import ONE, Cell, cells, maximal
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
    still = set(constants)
    still |= {c.left for c in domain if c.kind == "==" and isinstance(c.right, int)}
    same = _same(domain)
    relations = {(same.get(a, a), same.get(b, b)) for a, b in _relations(domain)}
    pairs = sorted((a, b) for a, b in relations if a != b)
    leading: set[Monomial] = set()
    for cell in cells(_renamed(as_expr(expr), same)):
        leading |= _leading(_without(cell, still), pairs)
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
    same = _same(domain)
    ours, theirs = _renamed(as_expr(derived), same), _renamed(parse(claim.order), same)
    if len(claim.variables) == 1:
        name = same.get(claim.variables[0], claim.variables[0])
        return order_in_expr(ours, name), order_in_expr(theirs, name)
    constants = {match[1] for text in claim.conditions if (match := _FIXED.match(text))}
    if claim.variables:
        constants |= (ours.symbols() | theirs.symbols()) - {same.get(v, v) for v in claim.variables}
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


def _relations(domain: Iterable[Condition]) -> set[tuple[str, str]]:
    """All pairs (a, b) of symbols with a <= b throughout the domain, the implied ones too."""
    pairs: set[tuple[str, str]] = set()
    for condition in domain:
        if isinstance(condition.right, str) and not condition.left.isdigit():
            if condition.kind in ("<=", "divides", "=="):
                pairs.add((condition.left, condition.right))
            if condition.kind in (">=", "=="):
                pairs.add((condition.right, condition.left))
    while True:
        implied = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not implied:
            return pairs
        pairs |= implied


def _same(domain: Sequence[Condition]) -> dict[str, str]:
    """One name for symbols that the domain makes equal: that right of an ==, else the first."""
    pairs = _relations(domain)
    given_up = {c.left for c in domain if c.kind == "==" and isinstance(c.right, str)}
    return {
        name: min(
            (b for a, b in pairs if a == name and (b, a) in pairs), key=lambda b: (b in given_up, b)
        )
        for name, other in pairs
        if name == other
    }


def _renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    return expr.subs({old: symbol(new) for old, new in names.items()})


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


def _leading(cell: Cell, relations: Sequence[tuple[str, str]]) -> set[Monomial]:
    """Monomials that strictly exceed the others somewhere inside ``cell``."""
    monos = sorted(maximal(cell.monomials), key=str)
    every = [mono for pair in cell.below for mono in pair] + monos
    names = {name for mono in every for name in Expr({mono: 1}).symbols()}
    names |= {name for pair in relations for name in pair}
    logs = sorted({a for mono in every for a, _power in mono if isinstance(a, Func)}, key=str)
    atoms: list[Atom] = [*sorted(names), *logs]

    def vector(mono: Monomial) -> Vector:
        powers = dict(mono)
        return tuple(powers.get(atom, 0) for atom in atoms)

    cone = [_minus(vector(((b, 1),)), vector(((a, 1),))) for a, b in relations]
    # Any power of a logarithm that occurs stays below its argument.
    below = 1 + max(sum(p for a, p in mono if isinstance(a, Func)) for mono in [*monos, ONE])
    cone += [_minus(vector(_argument(log)), vector(((log, below),))) for log in logs]
    # Strictly inside the cell: on its border another cell has the same growth by another name.
    inside = [_minus(vector(large), vector(small)) for small, large in cell.below]
    points = [vector(mono) for mono in monos]
    strict = [row for row in inside if any(row)]
    return {mono for i, mono in enumerate(monos) if _leads(i, points, strict, cone)}


def _leads(
    index: int, points: Sequence[Vector], strict: Sequence[Vector], cone: Sequence[Vector]
) -> bool:
    """Whether a point strictly exceeds all others in some direction of the cone.

    The program starts with no rival and takes in those that a found direction leaves unbeaten,
    until there is none or no direction is left.
    """
    rivals = [_minus(points[index], other) for i, other in enumerate(points) if i != index]
    positive = list(strict) or rivals[:1]
    if not positive:
        return True
    while (found := direction(positive, cone)) is not None:
        margins = [sum(x * y for x, y in zip(row, found, strict=True)) for row in rivals]
        unbeaten = sorted((m, row) for m, row in zip(margins, rivals, strict=True) if m <= 0)
        if not unbeaten:
            return True
        positive += [row for _margin, row in unbeaten[:4]]
    return False


def _minus(large: Vector, small: Vector) -> Vector:
    return tuple(x - y for x, y in zip(large, small, strict=True))
