"""Least values of sizes and functions, and polynomials written in what lies above them.

Each atom x with a known least value l is written x' + l with x' >= 0. An expression whose
coefficients are then all non-negative is never below its constant term.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import ceil, comb, floor

from costlab.algebra import Atom, Coefficient, Expr, Func, Monomial, Size, symbol
from costlab.formulas.record import Condition


class Bounds:
    """Least values of atoms where ``least`` gives those of the symbols (1 where it gives none)."""

    def __init__(self, least: Mapping[str, int]) -> None:
        self._least: dict[Atom, int | None] = dict(least.items())
        self._shifted: dict[Monomial, dict[Monomial, int]] = {}

    def of(self, atom: Atom) -> int | None:
        """The greatest known integer that ``atom`` is never below, or None."""
        if atom not in self._least:
            self._least[atom] = 1 if isinstance(atom, str) else self._function(atom)
        return self._least[atom]

    def of_expr(self, expr: Expr) -> Coefficient | None:
        """A value that ``expr`` is never below, or None where none is known."""
        rows = self.shifted(expr)
        constant = rows.pop((), 0)
        if any(c < 0 or not self.is_nonnegative(mono) for mono, c in rows.items()):
            return None
        return constant

    def is_nonnegative(self, mono: Monomial) -> bool:
        """Whether a shifted monomial is known to be non-negative."""
        return all(self.of(atom) is not None or power % 2 == 0 for atom, power in mono)

    def shifted(self, expr: Expr) -> dict[Monomial, Coefficient]:
        """Coefficients of ``expr`` in x' = x - least; atoms below the line stay as they are."""
        rows: dict[Monomial, Coefficient] = {}
        for mono, coefficient in expr:
            for shifted, factor in self.shift(mono).items():
                rows[shifted] = rows.get(shifted, 0) + coefficient * factor
        return rows

    def shift(self, mono: Monomial) -> dict[Monomial, int]:
        """``mono`` multiplied out in x' = x - least."""
        if mono not in self._shifted:
            choices: list[list[tuple[tuple[tuple[Atom, int], ...], int]]] = []
            for atom, power in mono:
                least = self.of(atom) or 0
                if power < 0 or least == 0:
                    choices.append([(((atom, power),), 1)])
                    continue
                choices.append(
                    [
                        (((atom, p),) if p else (), comb(power, p) * least ** (power - p))
                        for p in range(power + 1)
                    ]
                )
            rows: dict[Monomial, int] = {}
            for choice in product(*choices):
                factor = 1
                shifted: Monomial = ()
                for part, number in choice:
                    shifted += part
                    factor *= number
                rows[shifted] = rows.get(shifted, 0) + factor
            self._shifted[mono] = rows
        return self._shifted[mono]

    def _function(self, atom: Func) -> int | None:
        values = [self.of_expr(arg) for arg in atom.args]
        known = [value for value in values if value is not None]
        if atom.name == "Max":
            return floor(max(known)) if known else None
        if len(known) < len(values):
            return None
        least = min(known)
        if atom.name == "ceiling":
            return 1 if least == 0 and self._is_positive(atom.args[0]) else ceil(least)
        if atom.name == "log2":
            return floor(least).bit_length() - 1 if least >= 1 else None
        return floor(least)

    def _is_positive(self, expr: Expr) -> bool:
        """Whether a non-negative ``expr`` is known not to be 0.

        Shifted, atoms above the line may be 0 and those below it may not: a term of the latter
        alone cannot be cancelled, as the 1 of ``n - 1`` cancels its ``n``.
        """
        return any(
            c > 0 and all(power < 0 and (self.of(atom) or 0) > 0 for atom, power in mono)
            for mono, c in self.shifted(expr).items()
        )


def least_sizes(lower: Mapping[str, int], domain: Iterable[Condition]) -> dict[str, int]:
    """``lower`` raised by the conditions that compare a size with a number."""
    least = dict(lower)
    for condition in domain:
        if isinstance(condition.right, int) and condition.kind in (">=", "=="):
            least[condition.left] = max(least.get(condition.left, 1), condition.right)
    return least


def ordered_sizes(domain: Iterable[Condition]) -> list[tuple[dict[str, Size], list[str]]]:
    """Ways to write greater sizes as smaller ones plus a rest: ``n = w + n'`` where ``w <= n``.

    Each way is a substitution and the names of its rests, which are never negative. A size with
    several smaller ones takes another of them in each way.
    """
    smaller: dict[str, list[str]] = {}
    for condition in domain:
        if not isinstance(condition.right, str) or condition.left.isdigit():
            continue
        if condition.kind in ("<=", "divides"):
            smaller.setdefault(condition.right, []).append(condition.left)
        elif condition.kind == ">=":
            smaller.setdefault(condition.left, []).append(condition.right)
    count = max(map(len, smaller.values()), default=0)
    return [_substitution({n: s[i % len(s)] for n, s in smaller.items()}) for i in range(count)]


def _substitution(below: Mapping[str, str]) -> tuple[dict[str, Size], list[str]]:
    values: dict[str, Size] = {}

    def value(name: str, above: tuple[str, ...]) -> Expr:
        if name not in below or below[name] in (*above, name):
            return symbol(name)
        return value(below[name], (*above, name)) + symbol(name + "'")

    for name in below:
        values[name] = value(name, ())
    return values, [name + "'" for name in below]
