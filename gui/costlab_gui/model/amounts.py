"""Quantities of a program at a place, as numbers and as formulas in one line."""

from __future__ import annotations

from collections.abc import Iterable

from costlab.algebra import Expr, Size, as_expr
from costlab_gui.model.place import Place
from costlab_gui.model.terms import Evaluator, split, summed


def number(place: Place, expr: Size) -> float:
    """A formula at the sizes of a place."""
    return float(Evaluator(place.sizes).of(as_expr(expr)))


def quantity(place: Place, name: str) -> float | None:
    """A quantity of the class that holds; None without a closed form."""
    found = place.cost_class.cost.get(name)
    return None if found is None or found.expr is None else number(place, found.expr)


def formula(place: Place, name: str) -> str:
    """The formula of a quantity in one line; "" without a closed form."""
    found = place.cost_class.cost.get(name)
    return "" if found is None or found.expr is None else line(found.expr)


def line(expr: Size) -> str:
    """A formula in one line, as people write it: "8·b·h·n² + 16·b·d·n"."""
    return summed(split(as_expr(expr)))


def total(sizes: Iterable[Size]) -> Expr:
    """Their sum."""
    return as_expr(sum(map(as_expr, sizes), as_expr(0)))
