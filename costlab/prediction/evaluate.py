"""Formulas over numbers or numpy arrays of sizes: one call for a curve or a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from costlab.algebra import Expr, Size
from costlab.errors import AlgebraError
from costlab.formulas.compiled import compile_expr


def evaluate(size: Size, values: Mapping[str, Any]) -> Any:
    """Value of ``size`` at ``values``: exact for ints, float64 where an array is among them.

    Raises:
        AlgebraError: if a symbol has no value.
    """
    if isinstance(size, int):
        return size
    names, function = _compiled(size)
    try:
        return function(*(values[name] for name in names))
    except KeyError as missing:
        raise AlgebraError("a size is missing", given=str(missing.args[0])) from None


@lru_cache(maxsize=8192)
def _compiled(expr: Expr) -> tuple[tuple[str, ...], Callable[..., Any]]:
    names = tuple(sorted(expr.symbols()))
    return names, compile_expr(expr, names)
