"""Searching a size: the values at which formulas hold, and where a condition begins to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from costlab.algebra.expr import Expr
from costlab.errors import SizeError
from costlab.formulas.record import Derivation
from costlab.hardware.calibration_record import PERIOD
from costlab.i18n import _
from costlab.prediction.grid import Array
from costlab.prediction.sizes import complete_sizes

LARGEST = 2**30
"""Sizes beyond this are not searched."""

_SAMPLES = 600


def check_variable(derivation: Derivation, over: str) -> None:
    if over not in derivation.sizes:
        raise SizeError(
            _("{name} has no size of this name").format(name=derivation.architecture),
            given=over,
            allowed=", ".join(derivation.sizes),
        )


def own_sizes(derivation: Derivation, sizes: Mapping[str, int], over: str) -> dict[str, int]:
    """The sizes that ``derivation`` has, checked and completed, without ``over``.

    What follows from others (hash bits from the length) is left out unless it was given.
    """
    known = {*derivation.sizes, *derivation.auxiliary, "k"}
    own = {name: value for name, value in sizes.items() if name in known and name != over}
    if "k" in own and "k" not in {*derivation.sizes, *derivation.auxiliary}:
        own.pop("k")
    full = complete_sizes(derivation, {over: any_size(derivation, own, over), **own})
    follows = derivation.auxiliary.keys() - own.keys()
    return {name: full[name] for name in derivation.sizes if name != over and name not in follows}


def any_size(derivation: Derivation, sizes: Mapping[str, int], over: str) -> int:
    """A value of ``over`` with which the auxiliary symbols are integers."""
    if any(_divides(expr, over) for expr in derivation.auxiliary.values()):
        return 1
    return math.lcm(*(v for k, v in {**derivation.defaults, **sizes}.items() if k != over), 1)


def _divides(expr: Expr, over: str) -> bool:
    """Whether ``over`` stands below the line: then 1 divides everything."""
    return any(name == over and power < 0 for monomial in expr.terms for name, power in monomial)


def lattice_step(derivation: Derivation, over: str, sizes: Mapping[str, int]) -> int:
    """Distance of the sizes at which the main class holds: n in steps of w."""
    full = {**derivation.defaults, **sizes}
    steps = [
        int(full.get(condition.left, condition.left))
        for condition in derivation.classes[0].domain
        if condition.kind == "divides"
        and condition.right == over
        and (condition.left in full or condition.left.isdigit())
    ]
    for expr in derivation.auxiliary.values():
        if over in expr.symbols() and len(expr.terms) == 1:
            ((monomial, _c),) = expr.terms.items()
            steps += [full[a] for a, p in monomial if p < 0 and isinstance(a, str) and a in full]
    return math.lcm(*steps, 1)


def lattice(step: int) -> Array:
    """Multiples of ``step`` up to ``LARGEST``, dense at first, then even in the logarithm.

    From two periods on they are multiples of ``PERIOD`` too: a size that does not fill vectors
    takes longer than its neighbours, and an order that turns back and forth between them is no
    answer.
    """
    count = max(LARGEST // step, 1)
    numbers = np.round(np.geomspace(1, count, _SAMPLES))
    whole = math.lcm(step, PERIOD) // step
    even = np.clip(np.round(numbers / whole), 1, max(count // whole, 1)) * whole
    numbers = np.where(numbers * step >= 2 * PERIOD, even, numbers)
    return np.asarray(np.unique(numbers) * step, dtype=float)


def first_where(
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
