"""Functions of sizes, the same for numbers and expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from costlab.algebra.expr import Coefficient, Expr, Func, Size, as_expr, simplest


def _func(name: str, *args: Size | Fraction) -> Expr:
    return Expr({((Func(name, tuple(as_expr(a) for a in args)), 1),): 1})


def log2(x: Size) -> Expr | float:
    """Logarithm to base 2; a float for a number, an atom for an expression."""
    if isinstance(x, Expr) and not x.is_constant:
        return _func("log2", x)
    return math.log2(x.constant() if isinstance(x, Expr) else x)


def exact_log2(x: Size | Fraction) -> Size:
    """Logarithm to base 2 without rounding: an int for a power of two, else an atom."""
    if isinstance(x, Expr) and not x.is_constant:
        return _func("log2", x)
    value = x.constant() if isinstance(x, Expr) else x
    if isinstance(value, int) and value > 0 and value & (value - 1) == 0:
        return value.bit_length() - 1
    return _func("log2", value)


def ceiling(x: Size | Fraction) -> Size:
    """Least integer not below ``x``."""
    if isinstance(x, Expr) and not x.is_constant:
        return _func("ceiling", x)
    return math.ceil(x.constant() if isinstance(x, Expr) else x)


def floor(x: Size | Fraction) -> Size:
    """Greatest integer not above ``x``."""
    if isinstance(x, Expr) and not x.is_constant:
        return _func("floor", x)
    return math.floor(x.constant() if isinstance(x, Expr) else x)


def ceil_div(a: Size, b: Size) -> Size:
    """``ceiling(a / b)``: how many blocks of ``b`` cover ``a``."""
    if isinstance(a, Expr) or isinstance(b, Expr):
        return ceiling(as_expr(a) / b)
    return -(-a // b)


def _extreme(name: str, xs: tuple[Size | Fraction, ...]) -> Size:
    flat: dict[Expr, None] = {}
    numbers: list[Coefficient] = []
    for x in xs:
        expr = as_expr(x)
        if expr.is_constant:
            numbers.append(expr.constant())
            continue
        if len(expr.terms) == 1:
            ((mono, coefficient),) = expr.terms.items()
            if coefficient == 1 and len(mono) == 1 and mono[0][1] == 1:
                atom = mono[0][0]
                if isinstance(atom, Func) and atom.name == name:
                    for arg in atom.args:
                        if arg.is_constant:
                            numbers.append(arg.constant())
                        else:
                            flat[arg] = None
                    continue
        flat[expr] = None
    if numbers:
        flat[as_expr(max(numbers) if name == "Max" else min(numbers))] = None
    flat = _without_signed(name, flat)
    if len(flat) == 1:
        return simplest(next(iter(flat)))
    ordered = sorted(flat, key=str)
    return _func(name, *ordered)


def _without_signed(name: str, flat: dict[Expr, None]) -> dict[Expr, None]:
    """Drop what is sure to be on the wrong side of 0, where something is on the right side."""
    sign = 1 if name == "Max" else -1
    sums = [e for e in flat if not e.is_constant]
    good = {e for e in sums if _is_nonnegative(e * sign)}
    bad = {e for e in sums if _is_nonnegative(e * -sign)}
    numbers = {e for e in flat if e.is_constant}
    if not good and not any(e.constant() * sign >= 0 for e in numbers):
        return flat
    if good:
        bad |= {e for e in numbers if e.constant() * sign <= 0}
    return {e: None for e in flat if e not in bad}


def _is_nonnegative(expr: Expr) -> bool:
    """Whether no term of ``expr`` is negative: sizes are positive, a logarithm may not be."""
    return bool(expr.terms) and all(
        c > 0 and all(isinstance(a, str) or _atom_is_nonnegative(a) for a, _ in mono)
        for mono, c in expr.terms.items()
    )


def _atom_is_nonnegative(atom: Func) -> bool:
    return atom.name != "log2" and all(
        arg.constant() >= 0 if arg.is_constant else _is_nonnegative(arg) for arg in atom.args
    )


def maximum(*xs: Size | Fraction) -> Size:
    """Greatest of ``xs``; nested maxima are flattened."""
    return _extreme("Max", xs)


def minimum(*xs: Size | Fraction) -> Size:
    """Least of ``xs``; nested minima are flattened."""
    return _extreme("Min", xs)


def at_least(x: Size, bound: int) -> Size:
    """1 if the integer ``x`` is at least ``bound``, else 0, written with ``Min`` and ``Max``."""
    if isinstance(x, Expr) and not x.is_constant:
        return minimum(1, maximum(0, x - (bound - 1)))
    return int((x.constant() if isinstance(x, Expr) else x) >= bound)


_FUNCTIONS: Mapping[str, Callable[..., Size]] = {
    "log2": exact_log2,
    "ceiling": ceiling,
    "floor": floor,
    "Max": maximum,
    "Min": minimum,
}


def apply(name: str, *args: Size | Fraction) -> Expr:
    """The function ``name`` (as in :class:`Func`) of exact ``args``, simplified where constant."""
    return as_expr(_FUNCTIONS[name](*args))
