"""Formulas over numbers or numpy arrays of sizes: one call for a point, a curve or a map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Expr, Size, as_expr
from costlab.errors import AlgebraError, InputError
from costlab.formulas.compiled import CompiledNumbers, compile_expr
from costlab.formulas.record import Condition, CostClass, Derivation
from costlab.i18n import _


class Evaluated(dict[str, Any]):
    """Values of symbols, and a table of expressions that were evaluated at them.

    Attributes:
        place: row of each expression.
        table: their values, [expressions, ...].
        varies: which of them depend on one of the symbols that are arrays.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        place: Mapping[Expr, int],
        table: NDArray[np.float64],
        varies: NDArray[np.bool_],
    ) -> None:
        super().__init__(values)
        self.place, self.table, self.varies = place, table, varies


def evaluate(size: Size, values: Mapping[str, Any]) -> Any:
    """Value of ``size`` at ``values``: exact for ints, float64 where an array is among them.

    Raises:
        AlgebraError: if a symbol has no value.
    """
    if isinstance(size, int):
        return size
    if isinstance(values, Evaluated) and size in values.place:
        return values.table[values.place[size]]
    names, function = _compiled(size)
    try:
        return function(*(values[name] for name in names))
    except KeyError as missing:
        raise AlgebraError("a size is missing", given=str(missing.args[0])) from None


def evaluate_together(sizes: tuple[Size, ...], values: Mapping[str, Any]) -> list[Any]:
    """Values of several sizes at ``values``; what they have in common is computed once.

    Constants stay numbers; what depends on a size is an array where any of ``values`` is one.

    Raises:
        AlgebraError: if a symbol has no value.
    """
    if isinstance(values, Evaluated) and all(as_expr(size) in values.place for size in sizes):
        return [values.table[values.place[as_expr(size)]] for size in sizes]
    known, names, function = _compiled_together(sizes)
    try:
        found = function(*(values[name] for name in names))
    except KeyError as missing:
        raise AlgebraError("a size is missing", given=str(missing.args[0])) from None
    return [value if key is None else found[key] for key, value in known]


def evaluate_floats(sizes: tuple[Size, ...], values: Mapping[str, Any]) -> list[Any]:
    """Like :func:`evaluate_together`, but numbers alone give floats, which is quicker.

    Raises:
        AlgebraError: if a symbol has no value.
    """
    if any(isinstance(value, np.ndarray) for value in values.values()):
        return evaluate_together(sizes, values)
    try:
        return _compiled_floats(sizes)(values)
    except KeyError as missing:
        raise AlgebraError("a size is missing", given=str(missing.args[0])) from None


@lru_cache(maxsize=1024)
def _compiled_floats(sizes: tuple[Size, ...]) -> CompiledNumbers:
    return CompiledNumbers([as_expr(size) for size in sizes])


@lru_cache(maxsize=1024)
def _compiled_together(
    sizes: tuple[Size, ...],
) -> tuple[list[tuple[str | None, Any]], tuple[str, ...], Callable[..., dict[str, Any]]]:
    """For each size its key, or None and its constant; then the symbols and the function."""
    moving: dict[Expr, str] = {}
    known: list[tuple[str | None, Any]] = []
    for size in sizes:
        if isinstance(size, int):
            known.append((None, size))
        elif size.is_constant:
            known.append((None, size.constant()))
        else:
            known.append((moving.setdefault(size, str(len(moving))), None))
    names = tuple(sorted({name for expr in moving for name in expr.symbols()}))
    return known, names, compile_expr({key: expr for expr, key in moving.items()}, names)


@lru_cache(maxsize=8192)
def _compiled(expr: Expr) -> tuple[tuple[str, ...], Callable[..., Any]]:
    names = tuple(sorted(expr.symbols()))
    return names, compile_expr(expr, names)


def complete_arrays(derivation: Derivation, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes with defaults, auxiliary symbols and one thread; arrays pass through."""
    full: dict[str, Any] = {"threads": 1, **derivation.defaults, **sizes}
    for name, expr in derivation.auxiliary.items():
        if name not in sizes:
            full[name] = evaluate(expr, full)
    return full


def class_index(
    derivation: Derivation, full: Mapping[str, Any], *, smooth: bool = False
) -> NDArray[np.int64]:
    """For each size the index of the first class that holds; -1 where none does.

    Args:
        derivation: formulas.
        full: complete sizes as arrays.
        smooth: take divisibility for granted, as a map over two sizes does.
    """
    shape = np.broadcast_shapes(*(np.shape(value) for value in full.values()))
    chosen = np.full(shape, -1)
    free = np.full(shape, True)
    if not smooth:
        for name in derivation.auxiliary:
            value = full[name]
            free &= (value == np.floor(value)) & (value >= 1)
    known: dict[Condition, Any] = {}
    for index, cost_class in enumerate(derivation.classes):
        arrays = []
        for condition in cost_class.domain:
            if condition not in known:
                known[condition] = _holds(condition, full, smooth)
            holds = known[condition]
            if np.ndim(holds):
                arrays.append(holds)
            elif not holds:
                break
        else:
            mask = reduce(np.logical_and, arrays, free)
            chosen[mask] = index
            free &= ~mask
            if not free.any():
                break
    return chosen


def _holds(condition: Condition, full: Mapping[str, Any], smooth: bool) -> Any:
    """Where a condition holds: an array that broadcasts to the sizes, or one truth value."""
    if smooth and condition.kind in ("divides", "not divides"):
        return condition.kind == "divides"
    return condition.holds(full)


def evaluate_quantities(
    derivation: Derivation, sizes: Mapping[str, Any], quantities: Iterable[str]
) -> dict[str, Any]:
    """Values of several quantities at ``sizes``, each size a number or an array.

    Numbers alone give exact values; arrays give float64 arrays with NaN where no class holds.
    ``time`` also needs the machine's symbols among ``sizes``.

    Raises:
        SizeError: if no class holds at the given numbers.
        AlgebraError: if a symbol has no value.
        InputError: if a quantity has no closed form.
    """
    full = complete_arrays(derivation, sizes)
    if not any(isinstance(value, np.ndarray) for value in full.values()):
        chosen = derivation.select(full)
        return {name: evaluate(_formula(derivation, chosen, name), full) for name in quantities}
    index = class_index(derivation, full)
    found = {name: np.full(index.shape, np.nan) for name in quantities}
    for number, cost_class in enumerate(derivation.classes):
        mask = index == number
        if mask.any():
            own = {
                k: np.broadcast_to(v, index.shape)[mask] if isinstance(v, np.ndarray) else v
                for k, v in full.items()
            }
            for name, target in found.items():
                target[mask] = evaluate(_formula(derivation, cost_class, name), own)
    return found


def _formula(derivation: Derivation, cost_class: CostClass, name: str) -> Expr:
    quantity = cost_class.cost.get(name)
    if quantity is None or quantity.expr is None:
        raise InputError(
            _("{name} has no closed form of this quantity").format(name=derivation.architecture),
            given=f"{name}: {quantity.reason}" if quantity else name,
            allowed=", ".join(k for k, q in cost_class.cost.items() if q.expr is not None),
        )
    return quantity.expr
