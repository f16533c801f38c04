"""Formulas as fast functions of arrays (float64), and of Python numbers (exact)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Expr, Number, Size, as_expr
from costlab.errors import AlgebraError
from costlab.formulas.tape import Tape, record
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
        self.tapes: dict[frozenset[str], Tape] = {}

    def __call__(self, *values: Any) -> dict[str, Value]:
        if len(values) != len(self.names):
            raise AlgebraError(
                _("wrong number of sizes"), given=str(len(values)), allowed=", ".join(self.names)
            )
        if any(isinstance(value, (np.ndarray, np.generic, list, tuple)) for value in values):
            return self._arrays(values)
        sizes: dict[str, Number] = dict(zip(self.names, values, strict=True))
        return {key: expr.evaluate(sizes) for key, expr in self.exprs.items()}

    def _arrays(self, values: Sequence[Any]) -> dict[str, Value]:
        arrays: dict[str, Array] = {
            name: np.asarray(value, dtype=np.float64)
            for name, value in zip(self.names, values, strict=True)
        }
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        varying = frozenset(name for name, array in arrays.items() if array.size != 1)
        numbers: dict[str, Number] = {
            name: value if isinstance(value, int) else arrays[name].item()
            for name, value in zip(self.names, values, strict=True)
            if name not in varying
        }
        if varying not in self.tapes:
            self.tapes[varying] = record(tuple(self.exprs.values()), varying)
        tape = self.tapes[varying]
        coefficients = [float(expr.evaluate(numbers)) for expr in tape.coefficients]
        inputs = [np.broadcast_to(arrays[name], shape).ravel() for name in tape.inputs]
        results = _play(tape, inputs, coefficients, math.prod(shape))
        return {key: result.reshape(shape) for key, result in zip(self.exprs, results, strict=True)}


def _play(
    tape: Tape, inputs: Sequence[Array], coefficients: Sequence[float], count: int
) -> list[Array]:
    """Run ``tape`` over ``count`` points, in chunks small enough for the processor's cache."""
    results = [np.empty(count) for _result in tape.results]
    buffers = [np.empty(min(CHUNK, count)) for _buffer in range(tape.buffers)]
    steps = [(s.function, s.first, s.second, s.target) for s in tape.steps]
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        registers: list[Any] = [values[start:stop] for values in inputs]
        registers += coefficients
        registers += [buffer[: stop - start] for buffer in buffers]
        for function, first, second, target in steps:
            if second is None:
                function(registers[first], out=registers[target])
            else:
                function(registers[first], registers[second], out=registers[target])
        for result, register in zip(results, tape.results, strict=True):
            result[start:stop] = registers[register]
    return results
