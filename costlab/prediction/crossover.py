"""Where the order of two architectures turns.

Ceilings and terms, which ``costlab crossover`` answers too, are offered here as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.formulas.record import Derivation
from costlab.hardware.machine import Machine
from costlab.prediction.ceilings import Ceiling, ceiling
from costlab.prediction.grid import Array, Values, check_metric, curve
from costlab.prediction.search import check_variable, first_where, lattice, lattice_step, own_sizes
from costlab.prediction.terms import TermTurn, term_turn

__all__ = ["Ceiling", "Crossover", "TermTurn", "ceiling", "cheaper", "crossovers", "term_turn"]

SCHEMA = "costlab.crossover/1"


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
    step = _common_step(a, b, over, sizes)

    def both(values: Array) -> tuple[Values, Values]:
        return (
            curve(a, over, values, own_sizes(a, sizes, over), metric, machine),
            curve(b, over, values, own_sizes(b, sizes, over), metric, machine),
        )

    def lead(values: Array) -> Array:
        return _lead(*both(values))

    grid = lattice(step)
    leads = lead(grid)
    known = np.isfinite(leads)
    grid, signs = grid[known], np.sign(leads[known])
    found: list[Crossover] = []
    previous = None
    for index in np.flatnonzero(signs):
        if previous is not None and signs[index] != signs[previous]:
            sign = float(signs[index])
            turned = partial(_has_sign, lead, sign)
            at = first_where(turned, grid[previous], grid[index], step)
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


def cheaper(
    a: Derivation,
    b: Derivation,
    over: str,
    sizes: Mapping[str, int],
    machine: Machine | None = None,
    metric: str = "time",
) -> str | None:
    """The cheaper of ``a`` and ``b`` where their order never changes.

    Takes what :func:`crossovers` takes. Returns "" if they are equal, None if no size of ``over``
    suits both.
    """
    check_metric(metric)
    values = lattice(_common_step(a, b, over, sizes))
    lead = _lead(
        curve(a, over, values, own_sizes(a, sizes, over), metric, machine),
        curve(b, over, values, own_sizes(b, sizes, over), metric, machine),
    )
    lead = lead[np.isfinite(lead)]
    if not lead.size:
        return None
    order = float(np.sign(lead[np.abs(lead).argmax()]))
    return "" if order == 0 else b.architecture if order > 0 else a.architecture


def _common_step(a: Derivation, b: Derivation, over: str, sizes: Mapping[str, int]) -> int:
    for derivation in (a, b):
        check_variable(derivation, over)
    return math.lcm(*(lattice_step(derivation, over, sizes) for derivation in (a, b)))


def _lead(of_a: Values, of_b: Values) -> Array:
    """Positive where ``b`` is cheaper."""
    return np.asarray(np.log(of_a.value / of_b.value))


def _has_sign(lead: Callable[[Array], Array], sign: float, values: Array) -> NDArray[np.bool_]:
    return np.asarray(np.sign(lead(values)) == sign)


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
        low = first_where(lambda v: ~clear(v, -sign), last, min(beyond, float(at)), step) - step
    if after.size:
        first = after[0]
        under = grid[grid < first]
        start = max(under[-1] if under.size else 0.0, float(at - step))
        high = first_where(lambda v: clear(v, sign), start, first, step)
    return (low, high)
