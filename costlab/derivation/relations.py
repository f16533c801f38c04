"""Torch's symbolic sizes as exact expressions, and relations between them decided by bounds.

Torch keeps a symbolic size as a sympy tree with functions of its own (``FloorDiv``, ``Mod``,
``Max``). The tree is walked, never turned into text and parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from costlab.algebra import (
    Expr,
    Size,
    as_expr,
    ceiling,
    exact_div,
    floor,
    maximum,
    minimum,
    product,
    simplest,
    symbol,
    total,
)
from costlab.errors import AlgebraError
from costlab.formulas.bounds import Bounds

_OPERATORS = {
    "Equality": "=", "Unequality": "!=", "StrictLessThan": "<", "LessThan": "<=",
    "StrictGreaterThan": ">", "GreaterThan": ">=",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relation:
    """``left operator right``, the operator one of =, !=, <, <=, >, >=."""

    left: Expr
    operator: str
    right: Expr


class SizeReader:
    """Reads sympy trees over some symbols, of which bounds are known.

    Args:
        names: the name of each sympy symbol.
        least: the smallest value of each name.
        below: (smaller, larger) pairs of names; no larger one appears twice.
    """

    def __init__(
        self,
        names: Mapping[Any, str],
        least: Mapping[str, int],
        below: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._names = names
        self._ordered = {more: symbol(less) + symbol(f"{more}'") for less, more in below}
        self._bounds = Bounds({**least, **{f"{more}'": 0 for more in self._ordered}})

    def is_nonnegative(self, expr: Size) -> bool:
        """Whether ``expr`` is sure to be 0 or more."""
        least = self._bounds.of_expr(as_expr(expr).subs(self._ordered))
        return least is not None and least >= 0

    def expression(self, node: Any) -> Expr:
        """An expression equal to ``node`` for all sizes within the bounds.

        Raises:
            AlgebraError: for a function that dimensions do not have.
        """
        if node.is_Symbol:
            if node not in self._names:
                raise AlgebraError("a size that depends on the data", given=str(node))
            return symbol(self._names[node])
        if node.is_Rational:
            return as_expr(Fraction(int(node.p), int(node.q)))
        args = [self.expression(arg) for arg in node.args]
        match type(node).__name__:
            case "Add":
                return as_expr(total(args))
            case "Mul":
                return as_expr(product(args))
            case "Pow" | "PowByNatural":
                power = simplest(args[1])
                if isinstance(power, int):
                    return args[0] ** power
            case "FloorDiv" | "CleanDiv":
                return self.quotient(*args)
            case "CeilDiv":
                return -self.quotient(-args[0], args[1])
            case "CeilToInt":
                return as_expr(ceiling(args[0]))
            case "FloorToInt":
                return as_expr(floor(args[0]))
            case "Mod" | "PythonMod":
                return args[0] - args[1] * self.quotient(*args)
            case "Max":
                return as_expr(maximum(*self._extremes(args, 1)))
            case "Min":
                return as_expr(minimum(*self._extremes(args, -1)))
            case "Identity":
                return args[0]
        raise AlgebraError("no function that dimensions have", given=str(node))

    def quotient(self, a: Size, b: Size) -> Expr:
        """``floor(a / b)`` for a positive ``b``, without a floor wherever that can be told."""
        try:
            exact = exact_div(a, b)
        except AlgebraError:
            exact = None
        if exact is not None and _is_whole(exact):
            return exact
        divisor = as_expr(b)
        whole, rest = Expr({}), as_expr(a)
        if len(divisor.terms) == 1:
            parts = [Expr({mono: coefficient}) / divisor for mono, coefficient in rest]
            whole = as_expr(total(part for part in parts if _is_whole(part)))
            rest = rest - whole * divisor
        for carry in (0, -1):
            left = rest - divisor * carry
            if self.is_nonnegative(left) and self.is_nonnegative(divisor - 1 - left):
                return whole + carry
        return whole + floor(rest / divisor)

    def _extremes(self, args: list[Expr], sign: int) -> list[Expr]:
        """``args`` without those that another is sure to exceed (``sign`` 1) or undercut (-1)."""
        kept: list[Expr] = []
        for i, arg in enumerate(args):
            others = kept + args[i + 1 :]
            if not any(self.is_nonnegative((other - arg) * sign) for other in others):
                kept.append(arg)
        return kept

    def relation(self, node: Any) -> Relation | None:
        """A sympy relation of torch's; None if it is a size.

        Raises:
            AlgebraError: if it relates anything but sizes.
        """
        operator = _OPERATORS.get(type(node).__name__)
        if operator is None:
            return None
        left, right = (self.expression(arg) for arg in node.args)
        return Relation(left, operator, right)

    def is_sure(self, node: Any) -> bool:
        """Whether a sympy condition is sure to hold within the bounds."""
        match type(node).__name__:
            case "BooleanTrue":
                return True
            case "And":
                return all(map(self.is_sure, node.args))
            case "Or":
                return any(map(self.is_sure, node.args))
        try:
            relation = self.relation(node)
        except AlgebraError:
            return False
        return relation is not None and self.implies(relation)

    def named(self, text: str) -> str:
        """``text`` with torch's names of symbols and powers replaced by the usual ones."""
        names = {str(node): name for node, name in self._names.items()}
        text = re.sub(r"\bs\d+\b", lambda m: names.get(m[0], m[0]), text)
        return re.sub(r"\bPowByNatural\((\w+), (\w+)\)", r"\1**\2", text)

    def implies(self, relation: Relation) -> bool:
        """Whether ``relation`` is sure to hold within the bounds."""
        more = relation.left - relation.right
        match relation.operator:
            case "=":
                return more == 0
            case "!=":
                return self.is_nonnegative(more - 1) or self.is_nonnegative(-more - 1)
            case ">":
                return self.is_nonnegative(more - 1)
            case ">=":
                return self.is_nonnegative(more)
            case "<":
                return self.is_nonnegative(-more - 1)
        return self.is_nonnegative(-more)


def _is_whole(expr: Expr) -> bool:
    """Whether ``expr`` is a polynomial with integer coefficients."""
    return all(
        isinstance(coefficient, int) and all(power > 0 for _, power in mono)
        for mono, coefficient in expr
    )
