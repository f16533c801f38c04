"""Reads formulas from text and from term lists; ``str(expr)`` writes the text.

The grammar is ``+ - * / **``, integers, names, ``Max``, ``Min``, ``floor``, ``ceiling`` and
``log(x, 2)``. Text is parsed to a syntax tree and each node is checked against that list: nothing
is ever executed, and every name is a symbol whatever it means elsewhere (S, N, E, I, beta).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from costlab.algebra import Expr, Func, Size, apply, as_expr, maximum, symbol
from costlab.algebra import total as add
from costlab.errors import AlgebraError
from costlab.i18n import _

TermList = list[list[list[int | str | dict[str, int]]]]

MAX_POWER = 64
MAX_TERMS = 10_000
MAX_DIGITS = 1_000
MAX_BITS = 4_000
_GRAMMAR = "+ - * / **, integers, names, Max, Min, floor, ceiling, log(x, 2)"
_CALLS = {"Max": "Max", "Min": "Min", "floor": "floor", "ceiling": "ceiling", "log": "log2"}


def parse(text: str) -> Expr:
    """Return the expression that ``text`` writes; the inverse of ``str``.

    >>> str(parse("4*b*d*n*(6*d + n)"))
    '4*b*d*n**2 + 24*b*d**2*n'

    Raises:
        AlgebraError: if ``text`` is outside the grammar, or too large to expand.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _walk(tree.body)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise _refuse(_("cannot read a formula"), text) from error


def terms(expr: Size) -> TermList:
    """Return ``expr`` as plain data: per ``Max`` candidate ``[[coefficient, {atom: power}] ...]``.

    A coefficient is an int, or "p/q" where it is no integer; a function is keyed by its text.
    """
    result: TermList = []
    for candidate in candidates(expr):
        rows: list[list[int | str | dict[str, int]]] = []
        for mono, coefficient in candidate.ordered():
            number = coefficient if isinstance(coefficient, int) else str(coefficient)
            rows.append([number, {str(atom): power for atom, power in mono}])
        result.append(rows)
    return result


def from_terms(data: Sequence[Sequence[Sequence[int | str | Mapping[str, int]]]]) -> Expr:
    """Return the expression of a term list (see :func:`terms`).

    Raises:
        AlgebraError: if ``data`` is no term list.
    """
    sums: list[Expr] = []
    for rows in data:
        sums.append(as_expr(add(_term(row) for row in rows)))
    if not sums:
        raise AlgebraError(_("a term list needs at least one candidate"), given=str(data))
    return as_expr(maximum(*sums))


def candidates(expr: Size) -> tuple[Expr, ...]:
    """The arguments where ``expr`` is one ``Max``, else ``expr`` itself alone."""
    expr = as_expr(expr)
    if len(expr.terms) == 1:
        ((mono, coefficient),) = expr.terms.items()
        if coefficient == 1 and len(mono) == 1 and mono[0][1] == 1:
            atom = mono[0][0]
            if isinstance(atom, Func) and atom.name == "Max":
                return atom.args
    return (expr,)


def _term(row: Sequence[int | str | Mapping[str, int]]) -> Expr:
    if len(row) != 2 or not isinstance(row[1], Mapping):
        raise AlgebraError(
            _("not a term"), given=repr(row), allowed=_("[coefficient, {symbol: power}]")
        )
    number = str(row[0])
    if len(number) > MAX_DIGITS or not re.fullmatch(r"-?\d+(/0*[1-9]\d*)?", number):
        raise AlgebraError(
            _("not a coefficient"), given=repr(row[0]), allowed=_('an integer or "p/q"')
        )
    product = as_expr(Fraction(number))
    for name, power in row[1].items():
        if not isinstance(power, int) or abs(power) > MAX_POWER:
            raise AlgebraError(_("not a power"), given=repr(power), allowed=f"±{MAX_POWER}")
        atom = parse(name)
        if [len(mono) for mono in atom.terms] != [1]:
            raise AlgebraError(_("not a symbol or function"), given=name)
        product = product * atom**power
    return product


def _refuse(message: str, given: str) -> AlgebraError:
    shown = given if len(given) <= 80 else given[:77] + "..."
    return AlgebraError(message, given=shown, allowed=_GRAMMAR)


def _walk(node: ast.expr) -> Expr:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            if value.bit_length() > MAX_BITS:
                raise _refuse(_("the number is too large"), "")
            return as_expr(value)
        case ast.Name(id=name):
            if name in _CALLS:
                raise _refuse(_("a function needs its arguments"), name)
            return symbol(name)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return _sum(node)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_walk(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _walk(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_walk(left), _walk(right))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _times(_walk(left), _walk(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _walk(left) / _walk(right)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return _call(name, [_walk(arg) for arg in args])
    raise _refuse(_("not part of a formula"), ast.unparse(node))


def _sum(node: ast.expr) -> Expr:
    """A chain of additions, without recursion along it: a formula may have many terms."""
    parts: list[Expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        right = _walk(node.right)
        parts.append(-right if isinstance(node.op, ast.Sub) else right)
        node = node.left
    parts.append(_walk(node))
    return as_expr(add(parts))


def _times(left: Expr, right: Expr) -> Expr:
    if len(left.terms) * len(right.terms) > MAX_TERMS:
        raise _refuse(_("the formula has too many terms"), "")
    return left * right


def _power(base: Expr, exponent: Expr) -> Expr:
    power = exponent.constant() if exponent.is_constant else None
    if not isinstance(power, int) or abs(power) > MAX_POWER:
        raise AlgebraError(
            _("a power must be an integer"), given=str(exponent), allowed=f"±{MAX_POWER}"
        )
    if base.is_constant:
        number = Fraction(base.constant())
        size = max(number.numerator.bit_length(), number.denominator.bit_length())
        if size * abs(power) > MAX_BITS:
            raise _refuse(_("the number is too large"), "")
    elif math.comb(len(base.terms) + abs(power) - 1, abs(power)) > MAX_TERMS:
        raise _refuse(_("the formula has too many terms"), "")
    result = base**power
    if any(abs(p) > MAX_POWER for mono in result.terms for _atom, p in mono):
        raise AlgebraError(_("a power is too large"), given=str(power), allowed=f"±{MAX_POWER}")
    return result


def _call(name: str, args: list[Expr]) -> Expr:
    function = _CALLS[name]
    if name == "log":
        if len(args) != 2 or args[1] != 2:
            raise _refuse(_("a logarithm is written log(x, 2)"), name)
        if args[0].is_constant and args[0].constant() <= 0:
            raise _refuse(_("logarithm of a number that is not positive"), str(args[0]))
        return apply(function, args[0])
    if not args or (name in ("floor", "ceiling") and len(args) != 1):
        raise _refuse(_("wrong number of arguments"), name)
    return apply(function, *args)
