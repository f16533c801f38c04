"""Formulas as fast functions of arrays (float64), and of Python numbers (exact)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Expr, Number, Size, as_expr
from costlab.errors import AlgebraError
from costlab.formulas.tape import record
from costlab.i18n import _

CHUNK = 8192
Array = NDArray[np.float64]
Value = Number | Array


@overload
def compile_expr(
    exprs: Mapping[str, Size], names: Sequence[str]
) -> Callable[..., dict[str, Value]]: ...
@overload
def compile_expr(exprs: Size, names: Sequence[str]) -> Callable[..., Value]: ...
def compile_expr(
    exprs: Size | Mapping[str, Size], names: Sequence[str]
) -> Callable[..., Value | dict[str, Value]]:
    """Return a function of one value per name, in the order of ``names``.

    Values are numbers or arrays of shapes that broadcast together. Python numbers alone give the
    exact value, an int of any size; with an array among them the value is a float64 array of the
    common shape. A mapping of expressions is evaluated together and gives a dict.

    >>> from costlab.formulas.text import parse
    >>> compile_expr(parse("4*b*n**2*d"), ["b", "n", "d"])(64, 10**6, 8192)
    2097152000000000000

    Raises:
        AlgebraError: if an expression has a symbol that is not in ``names``.
    """
    if isinstance(exprs, Mapping):
        return _Program({key: as_expr(expr) for key, expr in exprs.items()}, names)
    program = _Program({"": as_expr(exprs)}, names)
    return lambda *values: program(*values)[""]


def compile_table(
    exprs: Sequence[Expr],
) -> Callable[[Mapping[str, Any]], tuple[Array, NDArray[np.bool_]]]:
    """Return a function from values of symbols, arrays among them, to a table [exprs, ...].

    With the table come the rows that depend on one of the arrays.

    Raises (the function):
        AlgebraError: if a symbol has no value.
    """
    names = sorted({name for expr in exprs for name in expr.symbols()})
    program = _Program({str(row): expr for row, expr in enumerate(exprs)}, names)

    def table(values: Mapping[str, Any]) -> tuple[Array, NDArray[np.bool_]]:
        missing = [name for name in names if name not in values]
        if missing:
            raise AlgebraError(_("a size is missing"), given=", ".join(missing))
        return program.table([values[name] for name in names])

    return table


class _Program:
    """Expressions with a tape for each set of names that were arrays in a call."""

    def __init__(self, exprs: Mapping[str, Expr], names: Sequence[str]) -> None:
        used = frozenset[str]().union(*(expr.symbols() for expr in exprs.values()))
        if not used <= set(names):
            raise AlgebraError(
                _("a formula has sizes that were not named"),
                given=", ".join(sorted(used - set(names))),
                allowed=", ".join(names),
            )
        self.names = tuple(names)
        self.exprs = dict(exprs)
        self.runs: dict[frozenset[str], _Run] = {}

    def __call__(self, *values: Any) -> dict[str, Value]:
        if len(values) != len(self.names):
            raise AlgebraError(
                _("wrong number of sizes"), given=str(len(values)), allowed=", ".join(self.names)
            )
        if any(isinstance(value, (np.ndarray, np.generic, list, tuple)) for value in values):
            return dict(zip(self.exprs, self.table(values)[0], strict=True))
        sizes: dict[str, Number] = dict(zip(self.names, values, strict=True))
        return {key: expr.evaluate(sizes) for key, expr in self.exprs.items()}

    def table(self, values: Sequence[Any]) -> tuple[Array, NDArray[np.bool_]]:
        """Values of all expressions, [expressions, ...], where an array is among ``values``.

        The second is which of them depend on an array.
        """
        arrays: dict[str, Array] = {}
        numbers: dict[str, Number] = {}
        shapes = []
        for name, value in zip(self.names, values, strict=True):
            if isinstance(value, (int, float)):
                numbers[name] = value
                continue
            array = np.asarray(value, dtype=np.float64)
            shapes.append(array.shape)
            if array.size == 1:
                numbers[name] = array.item()
            else:
                arrays[name] = array
        shape = shapes[0] if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        varying = frozenset(arrays)
        if varying not in self.runs:
            self.runs[varying] = _Run(tuple(self.exprs.values()), varying)
        run = self.runs[varying]
        return run(arrays, numbers, shape), run.varies


class _Run:
    """The tape of some expressions where the symbols ``varying`` are arrays."""

    def __init__(self, exprs: Sequence[Expr], varying: frozenset[str]) -> None:
        self.tape = record(exprs, varying)
        self.coefficients = CompiledNumbers(self.tape.coefficients)
        self.steps = [(s.function, s.first, s.second, s.target) for s in self.tape.steps]
        result, place, number = np.array(self.tape.weights, dtype=int).reshape(-1, 3).T
        # Where there is no coefficient stands the 0 that follows them.
        self.numbers = np.full((len(exprs), len(self.tape.basis)), len(self.tape.coefficients))
        self.numbers[result, place] = number
        self.basis = np.array(self.tape.basis, dtype=int)
        self.varies = np.zeros(len(exprs), dtype=bool)
        # The last array is 1 everywhere.
        self.varies[result[self.basis[place] != self.tape.rows - 1]] = True

    def __call__(
        self, arrays: Mapping[str, Array], numbers: Mapping[str, Number], shape: tuple[int, ...]
    ) -> Array:
        """Values of all expressions, [expressions, *shape]."""
        coefficients = self.coefficients(numbers)
        weights = np.array([*coefficients, 0.0])[self.numbers]
        count = math.prod(shape)
        own = [arrays[name] for name in self.tape.inputs]
        inputs = [(a if a.shape == shape else np.broadcast_to(a, shape)).ravel() for a in own]
        results = np.empty((len(weights), count))
        # Chunks are small enough for the processor's cache.
        chunk = max(min(CHUNK, count), 1)
        rows = np.empty((self.tape.rows, chunk))
        rows[-1] = 1.0
        for start in range(0, count, chunk):
            stop = min(start + chunk, count)
            block = rows[:, : stop - start]
            registers: list[Any] = [*block, *coefficients]
            for register, values in zip(block, inputs, strict=False):
                register[:] = values[start:stop]
            for function, first, second, target in self.steps:
                if second is None:
                    function(registers[first], out=registers[target])
                else:
                    function(registers[first], registers[second], out=registers[target])
            if weights.size == 1:
                np.multiply(block[self.basis[0]], weights[0, 0], out=results[0, start:stop])
            else:
                results[:, start:stop] = _combine(weights, block[self.basis])
        return results.reshape(len(weights), *shape)


def _combine(weights: Array, basis: Array) -> Array:
    """``weights @ basis``, where a weight of 0 also hides what is not finite."""
    if np.isfinite(basis).all():
        return weights @ basis
    infinite = np.flatnonzero(~np.isfinite(basis).all(axis=1))
    hidden = basis.copy()
    hidden[infinite] = 0.0
    found = weights @ hidden
    for row in infinite:
        used = np.flatnonzero(weights[:, row])
        found[used] += weights[used, row, None] * basis[row]
    return found


_SCALAR: Mapping[Callable[..., Any], Callable[..., Any]] = {
    np.add: operator.add,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.maximum: max,
    np.minimum: min,
    np.ceil: math.ceil,
    np.floor: math.floor,
    np.log2: math.log2,
}


class CompiledNumbers:
    """Values of many expressions at one set of numbers, rounded to floats at the end.

    Raises (when called):
        KeyError: if a symbol has no value.
    """

    def __init__(self, exprs: Sequence[Expr]) -> None:
        names = frozenset[str]().union(*(expr.symbols() for expr in exprs))
        tape = record(exprs, names)
        self.inputs = tape.inputs
        self.blank = [0] * (tape.rows - len(tape.inputs) - 1)
        constants = [c.evaluate({}) for c in tape.coefficients]
        self.constants = [1, *(c if isinstance(c, int) else float(c) for c in constants)]
        self.steps = [(_SCALAR[s.function], s.first, s.second, s.target) for s in tape.steps]
        self.weights = [
            (result, tape.basis[place], tape.rows + number)
            for result, place, number in tape.weights
        ]
        self.count = len(exprs)

    def __call__(self, numbers: Mapping[str, Number]) -> list[float]:
        registers: list[Any] = [numbers[name] for name in self.inputs]
        registers += self.blank
        registers += self.constants
        for function, first, second, target in self.steps:
            if second is None:
                registers[target] = function(registers[first])
            else:
                registers[target] = function(registers[first], registers[second])
        found: list[Any] = [0] * self.count
        for result, register, number in self.weights:
            found[result] += registers[register] * registers[number]
        return [float(value) for value in found]
