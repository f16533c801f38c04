"""Reads formulas from text and from term lists; ``str(expr)`` writes the text.

The grammar is ``+ - * / **``, integers, names, ``Max``, ``Min``, ``floor``, ``ceiling`` and
``log(x, 2)``. Text is parsed to a syntax tree and each node is checked against that list: nothing
is ever executed, and every name is a symbol whatever it means elsewhere (S, N, E, I, beta).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from costlab.algebra import Atom, Expr, Func, Size, apply, as_expr, maximum, symbol
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


def read(text: str) -> Expr:
    """Return the expression whose ``str`` is ``text``: :func:`parse` for what was written by it.

    It simplifies nothing and checks only the form, in a tenth of the time.
    """
    try:
        first, *others = _split(text, " ")
        if not first or any(other[0] not in "+-" for other in others):
            raise ValueError(text)
        parts = [_read_term(term) for term in (first, *others)]
        result = Expr({mono: c for part in parts for mono, c in part.terms.items()})
        if len(result.terms) != sum(len(part.terms) for part in parts):
            raise ValueError(text)
        return result
    except ValueError as error:
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


def _split(text: str, separator: str) -> Iterator[str]:
    """Parts of ``text`` outside brackets; the sign of a term stays with it."""
    depth, part = 0, ""
    for piece in text.split(separator):
        part = part + separator + piece if depth else part + piece
        depth += piece.count("(") - piece.count(")")
        if not depth and part not in ("+", "-"):
            yield part
            part = ""
    if part:
        raise ValueError(text)


@lru_cache(maxsize=1 << 14)
def _read_term(text: str) -> Expr:
    """A signed product with its divisors, as ``str(expr)`` writes one term."""
    above, *below = _parts(text.lstrip("+-").replace("**", "^"), "/")
    over, under = -1 if text[0] == "-" else 1, 1
    powers: dict[tuple[int, str], tuple[Atom, int]] = {}
    for side, factors in ((1, _parts(above, "*")), (-1, below)):
        for factor in factors:
            if factor.isdecimal():
                over, under = (
                    (over * int(factor), under) if side > 0 else (over, under * int(factor))
                )
                continue
            base, hat, exponent = factor.rpartition("^")
            if not exponent.isdecimal() or not hat:
                base, exponent = factor, "1"
            key = (int("(" in base), base.replace("^", "**"))
            powers[key] = (_read_atom(key[1]), side * int(exponent))
    coefficient = over if under == 1 else Fraction(over, under)
    return Expr({tuple(powers[key] for key in sorted(powers)): coefficient})


def _parts(text: str, separator: str) -> list[str]:
    return list(_split(text, separator)) if "(" in text else text.split(separator)


@lru_cache(maxsize=1 << 12)
def _read_atom(text: str) -> Atom:
    """A symbol, or a function of sums that are in the order in which ``str`` writes them."""
    if text.isidentifier() and text not in _CALLS:
        return text
    name, _bracket, inner = text.partition("(")
    if name not in _CALLS or inner[-1:] != ")":
        raise ValueError(text)
    args = tuple(read(arg) for arg in _split(inner[:-1], ", "))
    return Func(_CALLS[name], args[:1] if name == "log" else args)


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
