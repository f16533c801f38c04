"""Where a formula meets a budget, and where one formula overtakes another: exact integer sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from costlab.algebra import Expr, Number, Size, as_expr
from costlab.algebra import symbol as sym
from costlab.errors import AlgebraError, SizeError
from costlab.formulas.bounds import Bounds
from costlab.i18n import _

HIGH = 2**40
_POINTS_PER_OCTAVE = 8


@dataclass(frozen=True, slots=True)
class Crossing:
    """The first size ``at`` where the order of f and g is no longer what it was before.

    They may be equal there and for some sizes after it; then ``greater`` ("f" or "g") is greater.
    """

    at: int
    greater: str


def largest(
    expr: Size,
    symbol: str,
    budget: Number,
    others: Mapping[str, Number],
    low: int = 1,
    high: int = HIGH,
    step: int = 1,
) -> int | None:
    """Return the greatest size in ``low..high`` at which ``expr`` is within ``budget``.

    Only multiples of ``step`` count (a length that its window divides). ``others`` are the values
    of all other symbols. None if even the least size is beyond the budget.

    >>> from costlab.formulas.text import parse
    >>> largest(parse("4*n**2 + 8*n*d"), "n", 10**9, {"d": 512})
    15307

    Raises:
        AlgebraError: if ``expr`` falls somewhere as ``symbol`` grows: there is no one such size.
        SizeError: if the range has no multiple of ``step``.
    """
    formula = substitute(expr, others)
    if not is_increasing(formula, symbol, low, high):
        raise AlgebraError(
            _("the formula does not grow with this size"), given=f"{symbol}: {formula}"
        )
    first, last = _multiples(low, high, step)

    def beyond(count: int) -> bool:
        return formula.evaluate({symbol: count * step}) > budget

    if beyond(first):
        return None
    return (_first(beyond, first, last) - 1 if beyond(last) else last) * step


def crossing(
    f: Size,
    g: Size,
    symbol: str,
    others: Mapping[str, Number],
    low: int = 1,
    high: int = HIGH,
    step: int = 1,
) -> list[Crossing]:
    """Return all sizes in ``low..high`` (multiples of ``step``) where f and g change their order.

    Complete for polynomials (quotients by powers of the size included). With functions of the
    size, two changes closer than a tenth of the size may be missed.

    >>> from costlab.formulas.text import parse
    >>> crossing(parse("24*n*d**2"), parse("4*n**2*d"), "n", {"d": 512})
    [Crossing(at=3072, greater='g')]
    """
    difference = substitute(as_expr(f) - g, others).subs({symbol: step * sym(symbol)})
    runs = _runs(difference, symbol, *_multiples(low, high, step))
    ordered = [i for i, (_start, sign) in enumerate(runs) if sign]
    return [
        Crossing(runs[i + 1][0] * step, "f" if runs[j][1] > 0 else "g")
        for i, j in pairwise(ordered)
        if runs[i][1] != runs[j][1]
    ]


def is_increasing(formula: Expr, symbol: str, low: int = 1, high: int = HIGH) -> bool:
    """Whether a formula of one symbol never falls in ``low..high``.

    Proved from the coefficients where they allow it, else checked on sizes closer than a tenth.
    """
    if _grows(formula, Bounds({symbol: low})):
        return True
    values = [formula.evaluate({symbol: size}) for size in _grid(low, high)]
    return all(a <= b for a, b in pairwise(values))


def substitute(expr: Size, values: Mapping[str, Number]) -> Expr:
    """``expr`` at ``values``, floats taken as the exact fractions that they are."""
    return as_expr(expr).subs({name: Fraction(value) for name, value in values.items()})


def _grows(expr: Expr, bounds: Bounds) -> bool:
    return all(
        coefficient >= 0
        and all(
            power > 0
            and bounds.of(atom) is not None
            and (isinstance(atom, str) or all(_grows(arg, bounds) for arg in atom.args))
            for atom, power in mono
        )
        for mono, coefficient in bounds.shifted(expr).items()
        if mono
    )


def _multiples(low: int, high: int, step: int) -> tuple[int, int]:
    first, last = -(-low // step), high // step
    if first > last:
        raise SizeError(
            _("no allowed size in this range"),
            given=f"{low}..{high}",
            allowed=f"{step}, {2 * step}, ...",
        )
    return first, last


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first size at which ``holds`` is true, given that it is false at ``low``."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _runs(expr: Expr, symbol: str, low: int, high: int) -> list[tuple[int, int]]:
    """Where the sign of ``expr`` changes in ``low..high``: (first size, sign) of each stretch."""

    def sign(size: int) -> int:
        value = expr.evaluate({symbol: size})
        return (value > 0) - (value < 0)

    def next_change(start: int, end: int) -> int:
        before = sign(start)
        return _first(lambda size: sign(size) != before, start, end)

    runs = [(low, sign(low))]
    for a, b in pairwise(_marks(expr, symbol, low, high)):
        while runs[-1][1] != sign(b):
            start = next_change(max(a, runs[-1][0]), b)
            runs.append((start, sign(start)))
    return runs


def _marks(expr: Expr, symbol: str, low: int, high: int) -> Sequence[int]:
    """Sizes between which ``expr`` has at most one change: around the extremes of a polynomial."""
    if expr.atoms() - {symbol}:
        return _grid(low, high)
    powers = {dict(mono).get(symbol, 0): c for mono, c in expr}
    lowest, x = min(powers, default=0), sym(symbol)
    slope = sum(
        (
            x ** (power - lowest - 1) * (c * (power - lowest))
            for power, c in powers.items()
            if power > lowest
        ),
        start=Expr({}),
    )
    marks = {low, high}
    if slope.terms:
        for start, _sign in _runs(slope, symbol, low, high):
            marks |= {max(low, start - 1), start}
    return sorted(marks)


def _grid(low: int, high: int) -> list[int]:
    """Sizes from ``low`` to ``high``, each less than a tenth greater than the one before."""
    sizes = [low]
    while sizes[-1] < high:
        following = int(sizes[-1] * 2 ** (1 / _POINTS_PER_OCTAVE))
        sizes.append(min(high, max(sizes[-1] + 1, following)))
    return sizes
