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
    """Registers: first ``inputs``, then the values of ``coefficients``, then ``buffers`` arrays.

    ``results`` are the registers that hold the expressions after the last step.
    """

    inputs: tuple[str, ...]
    coefficients: tuple[Expr, ...]
    buffers: int
    steps: tuple[Step, ...]
    results: tuple[Register, ...]


def record(exprs: Sequence[Expr], varying: Collection[str]) -> Tape:
    """Return the tape that evaluates ``exprs``, ``varying`` naming the symbols that are arrays."""
    recorder = _Recorder(frozenset(varying))
    results = [recorder.sum(expr) for expr in exprs]
    return recorder.finish(results)


@dataclass(frozen=True, slots=True)
class _Value:
    """A register before registers are numbered: an input, a coefficient or a step's result."""

    kind: str
    index: int


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

    def sum(self, expr: Expr) -> _Value:
        """``expr``: each varying monomial once, with all that is one number as its coefficient."""
        rows: dict[Monomial, Expr] = {}
        for mono, coefficient in expr:
            moving = tuple(item for item in mono if self._varies(item[0]))
            still = tuple(item for item in mono if not self._varies(item[0]))
            rows[moving] = rows.get(moving, Expr({})) + Expr({still: coefficient})
        constant = rows.pop((), None)
        terms = [self._scaled(self.monomial(mono), factor) for mono, factor in rows.items()]
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

    def finish(self, results: Sequence[_Value]) -> Tape:
        """Number the registers, a buffer being used again once its value is no longer needed."""
        last_use = {value: len(self.steps) for value in results}
        for index, (_function, sources) in enumerate(self.steps):
            for value in sources:
                last_use[value] = max(last_use.get(value, -1), index)
        start = {"input": 0, "number": len(self.inputs)}
        first_buffer = len(self.inputs) + len(self.coefficients)
        place: dict[_Value, int] = {}
        free: list[int] = []
        buffers = 0

        def register(value: _Value) -> int:
            return place[value] if value.kind == "step" else start[value.kind] + value.index

        steps: list[Step] = []
        for index, (function, sources) in enumerate(self.steps):
            first, second = register(sources[0]), None
            if len(sources) == 2:
                second = register(sources[1])
            for value in dict.fromkeys(sources):
                if value.kind == "step" and last_use[value] == index:
                    free.append(place[value])
            if not free:
                free.append(first_buffer + buffers)
                buffers += 1
            place[_Value("step", index)] = free.pop()
            steps.append(Step(function, first, second, place[_Value("step", index)]))
        return Tape(
            tuple(self.inputs),
            tuple(self.coefficients),
            buffers,
            tuple(steps),
            tuple(register(value) for value in results),
        )
