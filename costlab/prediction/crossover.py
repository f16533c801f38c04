"""Where the order of two architectures turns, how large a size may get, and which term rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Expr, Func, exact_div
from costlab.errors import AlgebraError, InputError, SizeError
from costlab.formulas.record import Derivation
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.evaluate import evaluate
from costlab.prediction.grid import METRICS, Values, check_metric, curve
from costlab.prediction.sizes import complete_sizes

SCHEMA = "costlab.crossover/1"
LARGEST = 2**30  # sizes beyond this are not searched
_SAMPLES = 600
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Crossover:
    """From ``at`` on, the order of ``a`` and ``b`` is another than below.

    ``cheaper`` is the cheaper one from ``at`` on; ``interval`` holds the sizes between which the
    intervals of both overlap (an end is None where they do all the way).
    """

    a: str
    b: str
    variable: str
    at: int
    cheaper: str
    interval: tuple[int | None, int | None]
    metric: str

    def to_json(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "variable": self.variable,
            "at": self.at,
            "cheaper": self.cheaper,
            "interval": list(self.interval),
            "metric": self.metric,
        }


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The largest size that fits and is fast enough; ``binds`` says which limit it is.

    ``at`` is None where not even the smallest size passes; ``by`` holds the ceiling of each limit
    (None: none below ``LARGEST``).
    """

    architecture: str
    variable: str
    at: int | None
    binds: str
    by: Mapping[str, int | None]

    def to_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "variable": self.variable,
            "at": self.at,
            "binds": self.binds,
            "by": dict(self.by),
        }


@dataclass(frozen=True, slots=True)
class TermTurn:
    """From ``at`` on, the term of the highest power of ``variable`` exceeds all others together.

    ``exact`` is the same as a formula where it has one ("6*d").
    """

    architecture: str
    variable: str
    metric: str
    term: str
    rest: str
    at: float
    exact: str

    def to_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "variable": self.variable,
            "metric": self.metric,
            "term": self.term,
            "rest": self.rest,
            "at": self.at,
            "exact": self.exact,
        }


def crossovers(
    a: Derivation,
    b: Derivation,
    over: str,
    sizes: Mapping[str, int],
    machine: Machine | None = None,
    metric: str = "time",
) -> list[Crossover]:
    """Every size at which the cheaper of ``a`` and ``b`` changes, in ascending order.

    Args:
        a: one program.
        b: the other.
        over: the size that varies.
        sizes: the others; each program takes those it has.
        machine: needed for time.
        metric: "time", "flop", "bytes" or "memory".
    """
    check_metric(metric)
    for derivation in (a, b):
        _check_variable(derivation, over)
    step = math.lcm(*(_step(derivation, over, sizes) for derivation in (a, b)))

    def both(values: Array) -> tuple[Values, Values]:
        return (
            curve(a, over, values, _own(a, sizes, over), metric, machine),
            curve(b, over, values, _own(b, sizes, over), metric, machine),
        )

    def lead(values: Array) -> Array:
        of_a, of_b = both(values)
        return np.asarray(np.log(of_a.value / of_b.value))

    grid = _lattice(step)
    grid = grid[np.isfinite(lead(grid))]
    signs = np.sign(lead(grid))
    found: list[Crossover] = []
    previous = None
    for index in np.flatnonzero(signs):
        if previous is not None and signs[index] != signs[previous]:
            sign = signs[index]
            at = _first(
                lambda v, s=sign: np.sign(lead(v)) == s, grid[previous], grid[index], step
            )
            found.append(
                Crossover(
                    a=a.architecture,
                    b=b.architecture,
                    variable=over,
                    at=at,
                    cheaper=b.architecture if sign > 0 else a.architecture,
                    interval=_undecided(both, grid, at, sign, step),
                    metric=metric,
                )
            )
        previous = index
    return found


def ceiling(
    derivation: Derivation,
    over: str,
    sizes: Mapping[str, int],
    machine: Machine | None = None,
    *,
    fits_bytes: float | None = None,
    within_s: float | None = None,
) -> Ceiling:
    """The largest ``over`` whose peak fits in ``fits_bytes`` and whose time is ``within_s``.

    Without ``fits_bytes`` the machine's memory is the limit, where it is known.

    Raises:
        InputError: if there is no limit at all.
    """
    _check_variable(derivation, over)
    if fits_bytes is None and machine is not None:
        fits_bytes = machine.capacity_bytes
    limits = {"memory": fits_bytes, "time": within_s}
    active = {metric: limit for metric, limit in limits.items() if limit is not None}
    if not active:
        raise InputError(
            _("nothing limits the size"), advice=_("add --fits 24GiB or --within 100ms")
        )
    step = _step(derivation, over, sizes)
    own = _own(derivation, sizes, over)
    by: dict[str, int | None] = {}
    smallest_fails = ""
    for metric, limit in active.items():

        def passes(values: Array, metric: str = metric, limit: float = limit) -> NDArray[np.bool_]:
            found = curve(derivation, over, values, own, metric, machine).value
            return np.asarray(found <= limit)

        grid = _lattice(step)
        known = curve(derivation, over, grid, own, metric, machine).value
        grid = grid[np.isfinite(known)]
        good = passes(grid)
        if not good.any():
            smallest_fails = metric
            by[metric] = None
        elif good[-1]:
            by[metric] = None
        else:
            last = int(np.flatnonzero(good)[-1])
            fails = _first(lambda v, p=passes: ~p(v), grid[last], grid[last + 1], step)
            by[metric] = fails - step
    if smallest_fails:
        return Ceiling(derivation.architecture, over, None, smallest_fails, by)
    reached = {metric: at for metric, at in by.items() if at is not None}
    if not reached:
        return Ceiling(derivation.architecture, over, None, "", by)
    binds = min(reached, key=lambda metric: reached[metric])
    return Ceiling(derivation.architecture, over, reached[binds], binds, by)


def term_turn(
    derivation: Derivation, over: str, sizes: Mapping[str, int], metric: str = "flop"
) -> TermTurn | None:
    """Where the highest power of ``over`` exceeds the rest; None where it is alone or never does.

    Raises:
        InputError: for time (its terms are operators, not powers).
    """
    if metric not in METRICS or metric == "time":
        allowed = ", ".join(name for name in METRICS if name != "time")
        raise InputError(_("terms are powers of a formula"), given=metric, allowed=allowed)
    _check_variable(derivation, over)
    quantity = derivation.classes[0].cost.get(METRICS[metric])
    if quantity is None or quantity.expr is None:
        return None
    full = complete_sizes(derivation, {over: _smallest(derivation, sizes, over), **sizes})
    values = {**full, "threads": 1}
    for candidate in _candidates(quantity.expr):
        expr = candidate.subs(dict(derivation.auxiliary))
        turn = _term_turn(derivation, expr, over, values, metric)
        if turn is None:
            continue
        at = {**values, over: turn.at}
        at |= {name: evaluate(e, at) for name, e in derivation.auxiliary.items()}
        if math.isclose(evaluate(candidate, at), evaluate(quantity.expr, at), rel_tol=1e-9):
            return turn
    return None


def _term_turn(
    derivation: Derivation, expr: Expr, over: str, values: Mapping[str, Any], metric: str
) -> TermTurn | None:
    by_power = _powers(expr, over)
    if by_power is None or len(by_power) < 2:
        return None
    top = max(by_power)
    lead, rest = by_power.pop(top), sum(by_power.values(), Expr({}))

    def ahead(value: float) -> bool:
        at = {**values, over: value}
        return bool(evaluate(lead, at) > evaluate(rest, at))

    low, high = 1e-6, float(LARGEST)
    if ahead(low) or not ahead(high):
        return None
    for _step_number in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if ahead(middle) else (middle, high)
    exact = ""
    if len(by_power) == 1 and top - next(iter(by_power)) == 1:
        try:
            exact = str(exact_div(rest * Expr({((over, 1),): 1}), lead))
        except AlgebraError:
            exact = ""
    return TermTurn(
        derivation.architecture, over, metric, str(lead), str(rest), high, exact
    )


def _candidates(expr: Expr) -> tuple[Expr, ...]:
    """The arguments of a bare ``Max``, else the expression itself."""
    if len(expr.terms) == 1:
        ((monomial, coefficient),) = expr.terms.items()
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            atom = monomial[0][0]
            if isinstance(atom, Func) and atom.name == "Max":
                return atom.args
    return (expr,)


def _powers(expr: Expr, over: str) -> dict[int, Expr] | None:
    """Terms by their power of ``over``; None where it stands inside a function."""
    found: dict[int, Expr] = {}
    for monomial, coefficient in expr.terms.items():
        power = 0
        for atom, exponent in monomial:
            if atom == over:
                power = exponent
            elif isinstance(atom, Func) and any(over in arg.symbols() for arg in atom.args):
                return None
        found[power] = found.get(power, Expr({})) + Expr({monomial: coefficient})
    return found


def _check_variable(derivation: Derivation, over: str) -> None:
    if over not in derivation.sizes:
        raise SizeError(
            _("{name} has no size of this name").format(name=derivation.architecture),
            given=over,
            allowed=", ".join(derivation.sizes),
        )


def _own(derivation: Derivation, sizes: Mapping[str, int], over: str) -> dict[str, int]:
    """The sizes that ``derivation`` has, checked and completed, without ``over``."""
    known = {*derivation.sizes, *derivation.auxiliary, "k"}
    own = {name: value for name, value in sizes.items() if name in known and name != over}
    if "k" in own and "k" not in {*derivation.sizes, *derivation.auxiliary}:
        own.pop("k")
    full = complete_sizes(
        derivation, {over: _smallest(derivation, own, over), **own}
    )
    return {name: full[name] for name in derivation.sizes if name != over}


def _smallest(derivation: Derivation, sizes: Mapping[str, int], over: str) -> int:
    """A value of ``over`` with which the auxiliary symbols are integers."""
    return math.lcm(*(v for k, v in {**derivation.defaults, **sizes}.items() if k != over), 1)


def _step(derivation: Derivation, over: str, sizes: Mapping[str, int]) -> int:
    """Distance of the sizes at which the main class holds: n in steps of w."""
    full = {**derivation.defaults, **sizes}
    steps = [
        int(full[condition.left])
        for condition in derivation.classes[0].domain
        if condition.kind == "divides" and condition.right == over and condition.left in full
    ]
    for expr in derivation.auxiliary.values():
        if over in expr.symbols() and len(expr.terms) == 1:
            ((monomial, _c),) = expr.terms.items()
            steps += [full[a] for a, p in monomial if p < 0 and isinstance(a, str) and a in full]
    return math.lcm(*steps, 1)


def _lattice(step: int) -> Array:
    """Multiples of ``step`` up to ``LARGEST``, dense at first, then even in the logarithm."""
    count = max(LARGEST // step, 1)
    numbers = np.unique(np.round(np.geomspace(1, count, _SAMPLES)))
    return np.asarray(numbers * step, dtype=float)


def _first(
    holds: Callable[[Array], NDArray[np.bool_]], low: float, high: float, step: int
) -> int:
    """Smallest multiple of ``step`` in (low, high] from which ``holds`` is true (bisection)."""
    below, above = round(low / step), round(high / step)
    while above - below > 1:
        middle = (below + above) // 2
        if bool(holds(np.array([float(middle * step)]))[0]):
            above = middle
        else:
            below = middle
    return above * step


def _undecided(
    both: Callable[[Array], tuple[Values, Values]],
    grid: Array,
    at: int,
    sign: float,
    step: int,
) -> tuple[int | None, int | None]:
    """Sizes around ``at`` between which the intervals overlap."""

    def clear(values: Array, wanted: float) -> NDArray[np.bool_]:
        of_a, of_b = both(values)
        return np.asarray(of_a.low > of_b.high if wanted > 0 else of_b.low > of_a.high)

    before = grid[(grid < at) & clear(grid, -sign)]
    after = grid[(grid >= at) & clear(grid, sign)]
    low = high = None
    if before.size:
        last = before[-1]
        beyond = grid[grid > last][0] if (grid > last).any() else float(at)
        low = _first(lambda v: ~clear(v, -sign), last, min(beyond, float(at)), step) - step
    if after.size:
        first = after[0]
        under = grid[grid < first]
        start = max(under[-1] if under.size else 0.0, float(at - step))
        high = _first(lambda v: clear(v, sign), start, first, step)
    return (low, high)
