"""Leaves out candidates of a maximum that another one bounds at all allowed sizes.

Sound, never sampled: ``j`` bounds ``i`` if every coefficient of ``j - i`` is non-negative after
each size x is written as x' + its least value, x' >= 0. Further passes write ``n = w + n'`` where
the domain says ``w <= n``. Functions count as sizes of their own with the bounds that follow from
their arguments. What stays may still contain a candidate that is never the greatest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import lcm

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Atom, Expr, Monomial, Size, as_expr, maximum
from costlab.errors import AlgebraError
from costlab.formulas.bounds import Bounds, least_sizes, ordered_sizes
from costlab.formulas.record import Condition


def peak(
    candidates: Iterable[Size],
    lower: Mapping[str, int] | None = None,
    domain: Iterable[Condition] = (),
) -> Expr:
    """Return the maximum of the candidates that :func:`prune` keeps (0 if there are none)."""
    kept = prune(candidates, lower or {}, domain)
    return as_expr(maximum(*kept)) if kept else as_expr(0)


def prune(
    candidates: Iterable[Size], lower: Mapping[str, int], domain: Iterable[Condition] = ()
) -> tuple[Expr, ...]:
    """Return the candidates that no other bounds, in their order.

    ``lower`` are the least sizes, 1 where none is given; ``domain`` may raise them ("n >= 2") and
    order sizes ("w <= n", "h divides d").

    >>> from costlab.formulas.text import parse
    >>> [str(e) for e in prune([parse("2*n"), parse("3*n"), parse("n**2 + 1")], {"n": 4})]
    ['n**2 + 1']
    """
    domain = tuple(domain)
    least = least_sizes(lower, domain)
    kept = tuple(dict.fromkeys(map(as_expr, candidates)))
    kept = _undominated(kept, kept, Bounds(least))
    for values, rests in ordered_sizes(domain):
        if len(kept) < 2:
            break
        try:
            forms = [expr.subs(values) for expr in _cleared(kept)]
        except AlgebraError:
            continue  # a greater size below the line inside a function: this way is closed
        kept = _undominated(kept, forms, Bounds({**least, **dict.fromkeys(rests, 0)}))
    return kept


def _cleared(exprs: Sequence[Expr]) -> list[Expr]:
    """All ``exprs`` times one positive monomial that leaves nothing below the line."""
    lowest: dict[Atom, int] = {}
    for expr in exprs:
        for mono in expr.terms:
            for atom, power in mono:
                if power < lowest.get(atom, 0):
                    lowest[atom] = power
    factor = as_expr(1)
    for atom, power in lowest.items():
        factor = factor * Expr({((atom, 1),): 1}) ** -power
    return [expr * factor for expr in exprs] if lowest else list(exprs)


def _undominated(keys: Sequence[Expr], forms: Sequence[Expr], bounds: Bounds) -> tuple[Expr, ...]:
    """Those ``keys`` whose form no other form bounds.

    Candidates are visited from the greatest sum of coefficients down, so whatever bounds one
    was visited before it, and comparing with those that stayed is enough.
    """
    rows, signed = _coefficients(_cleared(forms), bounds)
    if rows.shape[1] == 0:
        return tuple(keys[:1])
    totals = rows[:, ~signed].sum(axis=1)
    stayed: list[int] = []
    for i in sorted(range(len(keys)), key=lambda i: -totals[i]):
        gap = rows[stayed] - rows[i]
        if not ((gap >= 0).all(axis=1) & (gap[:, signed] == 0).all(axis=1)).any():
            stayed.append(i)
    return tuple(keys[i] for i in sorted(stayed))


def _coefficients(
    exprs: Sequence[Expr], bounds: Bounds
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A row of shifted coefficients per expression, and which columns may be negative.

    Integers (times one common denominator): int64 where no sum can overflow, else Python's own.
    """
    whole = lcm(*{c.denominator for expr in exprs for c in expr.terms.values()})
    monos = {mono: i for i, mono in enumerate(dict.fromkeys(m for e in exprs for m in e.terms))}
    columns: dict[Monomial, int] = {}
    entries: list[tuple[int, int, int]] = []
    for mono, i in monos.items():
        for shifted, factor in bounds.shift(mono).items():
            entries.append((i, columns.setdefault(shifted, len(columns)), factor))
    numbers = [c for expr in exprs for c in expr.terms.values()]
    largest = max(max(numbers, default=0), -min(numbers, default=0))
    most = largest * whole * max((abs(f) for *_, f in entries), default=0) * len(monos)
    dtype = np.int64 if most * (len(columns) + 1) < 2**62 else object
    given = np.zeros((len(exprs), len(monos)), dtype)
    for row, expr in enumerate(exprs):
        for mono, c in expr:
            given[row, monos[mono]] = int(c * whole)
    shift = np.zeros((len(monos), len(columns)), dtype)
    for i, j, factor in entries:
        shift[i, j] = factor
    signed = np.array([not bounds.is_nonnegative(mono) for mono in columns], dtype=bool)
    return given @ shift, signed
