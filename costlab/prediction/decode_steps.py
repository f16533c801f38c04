"""Decode steps at a stretch of contexts: what they cost together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Expr
from costlab.algebra.sums import sum_range
from costlab.errors import AlgebraError
from costlab.formulas.evaluate import class_index, complete_arrays, evaluate
from costlab.formulas.record import CostClass, Derivation
from costlab.hardware.machine import Machine
from costlab.prediction.compiled_class import compiled
from costlab.prediction.compiled_time import times_of
from costlab.prediction.sizes import complete_sizes, known_sizes, select_class
from costlab.prediction.timing import LIMITERS

_AT_ONCE = 4096  # contexts that are evaluated together
Array = NDArray[np.float64]


class Steps:
    """The decode steps at contexts ``first .. first + count - 1``, class by class.

    Args:
        decode: formulas of the mode "decode".
        sizes: the other sizes; those that the program does not have are left out.
        machine: where they run.
        threads: threads of the run.
        first: tokens before the first step.
        count: number of steps.

    Raises:
        SizeError: if a size is missing, or no formula holds at one of the contexts.
    """

    def __init__(
        self,
        decode: Derivation,
        sizes: Mapping[str, int],
        machine: Machine,
        threads: int,
        first: int,
        count: int,
    ) -> None:
        self._program, self._machine = decode, machine
        own = {name: size for name, size in sizes.items() if name in known_sizes(decode)}
        full = complete_sizes(decode, {**own, "n": first})
        follows = {name for name in decode.auxiliary if name not in own}
        fixed = {k: v for k, v in full.items() if k != "n" and k not in follows}
        self._fixed = {**fixed, "threads": threads}
        self._follows = {
            name: expr.subs(self._fixed)
            for name, expr in decode.auxiliary.items()
            if name in follows
        }
        self._after = first + count
        self._runs = list(self._split(first, count))

    def _split(self, first: int, count: int) -> Iterator[tuple[CostClass, int, int]]:
        """(class, first context, last context) of stretches within one class."""
        contexts = np.arange(first, first + count, dtype=float)
        chosen = np.broadcast_to(class_index(self._program, self._at(contexts)), contexts.shape)
        edges = [0, *(np.flatnonzero(np.diff(chosen)) + 1), count]
        for start, end in pairwise(edges):
            found = select_class(
                self._program, complete_sizes(self._program, self._given(first + int(start)))
            )
            yield found, first + int(start), first + int(end) - 1

    def _given(self, n: int) -> dict[str, int]:
        own = {name: size for name, size in self._fixed.items() if name in self._program.sizes}
        return {**own, "n": n}

    def _at(self, contexts: Array | float) -> dict[str, Any]:
        return complete_arrays(self._program, {**self._fixed, "n": contexts})

    def times(self) -> dict[str, float]:
        """Seconds of all steps by what limits them, and the ends of their interval."""
        found = dict.fromkeys((*LIMITERS, "low", "high"), 0.0)
        for cost_class, first, last in self._runs:
            program = compiled(cost_class, self._machine, self._program.mode)
            for start in range(first, last + 1, _AT_ONCE):
                contexts = np.arange(start, min(start + _AT_ONCE, last + 1), dtype=float)
                times = times_of([(program, program.at(self._at(contexts)))], self._machine)[0]
                for name in found:
                    part = np.broadcast_to(getattr(times, f"{name}_s"), contexts.shape)
                    found[name] += float(part.sum())
        return found

    def total(self, quantity: str, before: int | None) -> int | None:
        """``before`` and the quantity of every step; None where one has no closed form."""
        if before is None:
            return None
        total = before
        for expr, first, last in self._formulas(quantity):
            if expr is None:
                return None
            total += _sum(expr, first, last)
        return total

    def peak(self, before: int | None) -> int | None:
        """The largest of ``before`` and the steps' peaks."""
        if before is None:
            return None
        peak = before
        for expr, first, last in self._formulas("peak_bytes"):
            if expr is None:
                return None
            peak = max(peak, *_each(expr, first, last, max))
        return peak

    def state_after(self) -> int | None:
        """Bytes of the state that the last step leaves."""
        full = complete_sizes(self._program, self._given(self._after))
        found = select_class(self._program, full).cost.get("state_bytes")
        if found is None or found.expr is None:
            return None
        return round(found.expr.evaluate({**full, **self._fixed}))

    def _formulas(self, quantity: str) -> Iterator[tuple[Expr | None, int, int]]:
        for cost_class, first, last in self._runs:
            found = cost_class.cost.get(quantity)
            expr = None if found is None else found.expr
            if expr is not None:
                expr = expr.subs(self._follows).subs(self._fixed)
            yield expr, first, last


def _sum(expr: Expr, first: int, last: int) -> int:
    """The formula of n summed over contexts, each value rounded as a single step's is."""
    try:
        closed = sum_range(expr, "n", first, last)
    except AlgebraError:
        return sum(_each(expr, first, last, sum))
    return round(closed.evaluate({}))


def _each(expr: Expr, first: int, last: int, reduce: Callable[[list[int]], int]) -> Iterator[int]:
    """``reduce`` of the exact values at stretches of contexts."""
    for start in range(first, last + 1, _AT_ONCE):
        contexts = np.arange(start, min(start + _AT_ONCE, last + 1), dtype=float)
        values = np.broadcast_to(evaluate(expr, {"n": contexts}), contexts.shape)
        yield reduce([round(value) for value in values.tolist()])
