"""Turns expressions into a short list of array operations that share what they have in common.

Symbols are split into those that vary over an array and those that are one number in a call: the
latter are folded into coefficients first, so a curve over n evaluates polynomials of n alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm
from typing import Any

import numpy as np

from costlab.algebra import Expr, Func, Monomial, as_expr

_EXTREMES: Mapping[str, Callable[..., Any]] = {"Max": np.maximum, "Min": np.minimum}
_ROUNDINGS: Mapping[str, Callable[..., Any]] = {"ceiling": np.ceil, "floor": np.floor}

Register = int


@dataclass(frozen=True, slots=True)
class Step:
    """``registers[target] = function(registers[first], registers[second])``, element by element.

    ``second`` is None for a function of one argument.
    """

    function: Callable[..., Any]
    first: Register
    second: Register | None
    target: Register


@dataclass(frozen=True, slots=True)
class Tape:
    """Registers: first ``rows`` arrays, then the values of ``coefficients``.

    The first arrays are ``inputs``, the last one is 1 everywhere. After the last step each
    expression is a sum over ``weights``: (result, place in ``basis``, coefficient), where ``basis``
    are the arrays that are summed.
    """

    inputs: tuple[str, ...]
    coefficients: tuple[Expr, ...]
    rows: int
    steps: tuple[Step, ...]
    basis: tuple[Register, ...]
    weights: tuple[tuple[int, int, int], ...]


def record(exprs: Sequence[Expr], varying: Collection[str]) -> Tape:
    """Return the tape that evaluates ``exprs``, ``varying`` naming the symbols that are arrays."""
    recorder = _Recorder(frozenset(varying))
    if len(exprs) == 1 and exprs[0].symbols() & recorder.varying:
        # A sum of its own needs fewer arrays at once than what is combined with others.
        return recorder.finish([{recorder.sum(exprs[0]): as_expr(1)}])
    return recorder.finish([recorder.terms(expr) for expr in exprs])


@dataclass(frozen=True, slots=True)
class _Value:
    """A register before they are numbered: an input, a coefficient, a step's result or "one"."""

    kind: str
    index: int


_ONE = _Value("one", 0)


class _Recorder:
    """Builds steps bottom-up; an operation asked for twice is recorded once."""

    def __init__(self, varying: frozenset[str]) -> None:
        self.varying = varying
        self.inputs: dict[str, _Value] = {}
        self.coefficients: dict[Expr, _Value] = {}
        self.known: dict[tuple[Any, ...], _Value] = {}
        self.steps: list[tuple[Callable[..., Any], tuple[_Value, ...]]] = []

    def step(self, function: Callable[..., Any], *sources: _Value) -> _Value:
        key = (function, *sources)
        if key not in self.known:
            self.known[key] = _Value("step", len(self.steps))
            self.steps.append((function, sources))
        return self.known[key]

    def number(self, expr: Expr) -> _Value:
        return self.coefficients.setdefault(expr, _Value("number", len(self.coefficients)))

    def terms(self, expr: Expr) -> dict[_Value, Expr]:
        """``expr``: each varying monomial once, with all that is one number as its coefficient."""
        rows: dict[Monomial, Expr] = {}
        for mono, coefficient in expr:
            moving = tuple(item for item in mono if self._varies(item[0]))
            still = tuple(item for item in mono if not self._varies(item[0]))
            rows[moving] = rows.get(moving, Expr({})) + Expr({still: coefficient})
        return {self.monomial(mono) if mono else _ONE: factor for mono, factor in rows.items()}

    def sum(self, expr: Expr) -> _Value:
        """``expr`` as one register, for a function of it."""
        rows = self.terms(expr)
        constant = rows.pop(_ONE, None)
        terms = [self._scaled(value, factor) for value, factor in rows.items()]
        if constant is not None or not terms:
            terms.append(self.number(constant or Expr({})))
        return reduce(lambda a, b: self.step(np.add, a, b), terms)

    def monomial(self, mono: Monomial) -> _Value:
        above = [self.atom(atom) for atom, power in mono for _ in range(power)]
        below = [self.atom(atom) for atom, power in mono for _ in range(-power)]
        if not below:
            return self._product(above)
        numerator = self._product(above) if above else self.number(as_expr(1))
        return self.step(np.divide, numerator, self._product(below))

    def atom(self, atom: str | Func) -> _Value:
        if isinstance(atom, str):
            return self.inputs.setdefault(atom, _Value("input", len(self.inputs)))
        if atom.name == "log2":
            return self.step(np.log2, self.sum(atom.args[0]))
        if atom.name in _ROUNDINGS:
            return self.step(_ROUNDINGS[atom.name], self._quotient(atom.args[0]))
        function = _EXTREMES[atom.name]
        return reduce(lambda a, b: self.step(function, a, b), [self.sum(arg) for arg in atom.args])

    def _quotient(self, expr: Expr) -> _Value:
        """``expr`` by a single division, so that n/w is exact where w divides n."""
        lowest: dict[str | Func, int] = {}
        for mono, _coefficient in expr:
            for atom, power in mono:
                lowest[atom] = min(lowest.get(atom, 0), power)
        whole = lcm(*(Fraction(c).denominator for _mono, c in expr))
        below = as_expr(whole)
        for atom, power in lowest.items():
            below = below * Expr({((atom, 1),): 1}) ** -power
        if below == 1:
            return self.sum(expr)
        return self.step(np.divide, self.sum(expr * below), self.sum(below))

    def _varies(self, atom: str | Func) -> bool:
        if isinstance(atom, str):
            return atom in self.varying
        return any(arg.symbols() & self.varying for arg in atom.args)

    def _product(self, factors: Sequence[_Value]) -> _Value:
        return reduce(lambda a, b: self.step(np.multiply, a, b), factors)

    def _scaled(self, value: _Value, factor: Expr) -> _Value:
        return value if factor == 1 else self.step(np.multiply, value, self.number(factor))

    def finish(self, sums: Sequence[Mapping[_Value, Expr]]) -> Tape:
        """Number the registers, a buffer being used again once its value is no longer needed."""
        basis = list(dict.fromkeys(value for terms in sums for value in terms))
        weights = tuple(
            (result, basis.index(value), self.number(factor).index)
            for result, terms in enumerate(sums)
            for value, factor in terms.items()
        )
        last_use = {value: len(self.steps) for value in basis}
        for index, (_function, sources) in enumerate(self.steps):
            for value in sources:
                last_use[value] = max(last_use.get(value, -1), index)
        place: dict[_Value, int] = {value: value.index for value in self.inputs.values()}
        free: list[int] = []
        rows = len(self.inputs)
        for index, (_function, sources) in enumerate(self.steps):
            for value in dict.fromkeys(sources):
                if value.kind == "step" and last_use[value] == index:
                    free.append(place[value])
            if not free:
                free.append(rows)
                rows += 1
            place[_Value("step", index)] = free.pop()
        place[_ONE] = rows
        for value in self.coefficients.values():
            place[value] = rows + 1 + value.index
        return Tape(
            tuple(self.inputs),
            tuple(self.coefficients),
            rows + 1,
            tuple(
                Step(
                    function,
                    place[sources[0]],
                    place[sources[1]] if len(sources) == 2 else None,
                    place[_Value("step", index)],
                )
                for index, (function, sources) in enumerate(self.steps)
            ),
            tuple(place[value] for value in basis),
            weights,
        )
