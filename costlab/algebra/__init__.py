"""Exact expressions of sizes: polynomials with rational coefficients over symbols and functions.

An :class:`Expr` is a sum of terms, each a rational coefficient times integer powers of *atoms*.
An atom is a symbol (its name) or one of a few functions (``log2``, ``ceiling``, ``floor``,
``Max``, ``Min``) of expressions. Plain ints work wherever an expression does, so a cost rule is
one piece of code for numbers and for formulas. Sizes are positive integers; nothing here knows
torch, sympy or numpy.
"""

from __future__ import annotations

from costlab.algebra.expr import (
    Atom,
    Coefficient,
    Expr,
    Func,
    Monomial,
    Number,
    Size,
    as_expr,
    integer,
    product,
    simplest,
    symbol,
    total,
)
from costlab.algebra.functions import (
    apply,
    at_least,
    ceil_div,
    ceiling,
    exact_log2,
    floor,
    log2,
    maximum,
    minimum,
)
from costlab.algebra.sums import (
    exact_div,
    sum_range,
)

__all__ = [
    "Atom",
    "Coefficient",
    "Expr",
    "Func",
    "Monomial",
    "Number",
    "Size",
    "apply",
    "as_expr",
    "at_least",
    "ceil_div",
    "ceiling",
    "exact_div",
    "exact_log2",
    "floor",
    "integer",
    "log2",
    "maximum",
    "minimum",
    "product",
    "simplest",
    "sum_range",
    "symbol",
    "total",
]
