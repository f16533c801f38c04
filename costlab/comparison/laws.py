"""Which law a measured cost follows over one size: constant, a power, or two regimes.

Residuals are relative (of logarithms), so the largest size does not decide alone. What rules at
small sizes, a constant overhead or a linear part, belongs to the model, so that it does not bend
the exponent. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.hardware.student import student_quantile

CONSTANT, POWER = "constant", "power"
OVERHEAD, LINEAR = "overhead and power", "linear and power"
FEWEST = 5  # three parameters and two residuals
TOO_WIDE = 0.3  # exponents known less closely say nothing of the law
_LEVEL = 0.95
_STEEPER = 1.1  # exponents that a linear part can be told from
_STEEP_ORDERS = frozenset({"n^2", "n^2 log n", "n^3"})
_RICHER = 0.99  # a further parameter needs more than chance
_EXPONENTS = np.linspace(0.02, 4.0, 200)
_SHARES = np.linspace(-9.0, 9.0, 31)  # logarithm of overhead over power term at the middle size
Array = NDArray[np.float64]

ORDERS: dict[str, Callable[[Array], Array]] = {
    "1": np.ones_like,
    "log n": np.log,
    "n": lambda n: n,
    "n log n": lambda n: n * np.log(n),
    "n^2": lambda n: n**2,
    "n^2 log n": lambda n: n**2 * np.log(n),
    "n^3": lambda n: n**3,
}


@dataclass(frozen=True, slots=True)
class Law:
    """A fitted law.

    Attributes:
        model: "constant", "power", "overhead and power" or "linear and power": the simplest that
            the data allow.
        exponent: of the power; 0 for a constant.
        interval: its 95 % interval; None where the residuals leave it open.
        turn: size from which the power outweighs the overhead or the linear part; None without.
        orders: named orders (of ``ORDERS``) that fit as well as the free exponent; one of them
            is an answer, several or none are "undecided".
        scatter: standard deviation of the relative residuals.
    """

    model: str
    exponent: float
    interval: tuple[float, float] | None
    turn: float | None
    orders: tuple[str, ...]
    scatter: float

    @property
    def decided(self) -> bool:
        """Whether one order alone fits and the exponent is known closely."""
        known = self.interval is not None and self.interval[1] - self.interval[0] <= TOO_WIDE
        return known and len(self.orders) == 1

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "exponent": self.exponent,
            "interval": None if self.interval is None else list(self.interval),
            "turn": self.turn,
            "orders": list(self.orders),
            "decided": self.decided,
            "scatter": self.scatter,
        }


def fit_law(sizes: Sequence[float], values: Sequence[float]) -> Law | None:
    """Fit the law of ``values`` over ``sizes``; None with fewer than five different sizes.

    The model is the simplest that none of the richer ones improves on significantly (F tests at
    99 %); the interval of the exponent is the set of exponents that a test at 95 % does not reject.

    Args:
        sizes: positive, at least two.
        values: one positive value for each size.
    """
    if len(set(sizes)) < FEWEST or min(sizes) < 2:
        return None
    n, y = np.array(sizes, dtype=float), np.log(np.array(values, dtype=float))
    count = len(n)
    # A floor on the scatter: values exact to the bit must not reject what rounding explains.
    floor = count * 1e-18
    flat = float(np.square(y - y.mean()).sum()) + floor
    shapes = n[None, :] ** _EXPONENTS[:, None]
    powers = _residuals(shapes, y) + floor
    constant = _Regimes.fit(shapes, y, floor)
    linear = _Regimes.fit(shapes / n, y - np.log(n), floor, _EXPONENTS >= _STEEPER)
    chosen = constant if constant.sums.min() <= linear.sums.min() else linear
    power, full = int(powers.argmin()), int(chosen.sums.argmin())
    least = float(chosen.sums[full])
    if _better(least, powers[power], count - 3, 1) and _better(least, flat, count - 3, 2):
        model, at = (OVERHEAD if chosen is constant else LINEAR), full
        curve, freedom = np.minimum(constant.sums, linear.sums), count - 3
    elif _better(powers[power], flat, count - 2, 1):
        # An overhead too small to show still bends the exponent, so the interval allows one.
        model, at, curve, freedom = POWER, power, constant.sums, count - 3
    else:
        model, at, curve, freedom = CONSTANT, 0, powers, count - 2
    best = min(float(curve.min()), flat)
    limit = best * (1 + student_quantile(freedom, _LEVEL) ** 2 / freedom)
    exponent = 0.0 if model == CONSTANT else float(_EXPONENTS[at])
    turn = None
    if model in (OVERHEAD, LINEAR):
        middle = math.exp(float(np.log(n).mean()))
        steeper = exponent - (1 if model == LINEAR else 0)
        turn = middle * math.exp(float(chosen.shares[at]) / steeper)
    return Law(
        model=model,
        exponent=exponent,
        interval=_interval(curve, limit, flat, model),
        turn=turn,
        orders=_orders(n, y, limit - floor, model),
        scatter=math.sqrt(best / freedom),
    )


@dataclass(frozen=True)
class _Regimes:
    """For each exponent: the least sum with a second regime, and how large that regime is."""

    sums: Array
    shares: Array

    @classmethod
    def fit(cls, shapes: Array, y: Array, floor: float, allowed: Any = True) -> _Regimes:
        sums, shares = _best_overheads(shapes, y)
        return cls(np.where(allowed, sums + floor, np.inf), shares)


def _residuals(shapes: Array, y: Array) -> Array:
    """Sums of squared relative residuals of the best multiple of each row of ``shapes``."""
    gaps = y - np.log(shapes)
    return np.asarray(np.square(gaps - gaps.mean(axis=1, keepdims=True)).sum(axis=1))


def _best_overheads(shapes: Array, y: Array) -> tuple[Array, Array]:
    """For each row of ``shapes``: least sum with an overhead, and the logarithm of that overhead.

    The overhead is in units of the shape at the geometric middle of the sizes.
    """
    scaled = shapes / np.exp(np.log(shapes).mean(axis=1, keepdims=True))
    rows = np.arange(len(shapes))
    shares = np.tile(_SHARES, (len(shapes), 1))
    for _refinement in range(4):
        gaps = y - np.log(np.exp(shares)[:, :, None] + scaled[:, None, :])
        sums = np.square(gaps - gaps.mean(axis=2, keepdims=True)).sum(axis=2)
        at = sums.argmin(axis=1)
        best, chosen = sums[rows, at], shares[rows, at]
        step = shares[:, 1] - shares[:, 0]
        shares = chosen[:, None] + step[:, None] * np.linspace(-1.0, 1.0, 11)
    return best, chosen


def _better(richer: float, simpler: float, freedom: int, parameters: int) -> bool:
    """F test of one or two further parameters at 99 %."""
    if parameters == 1:
        critical = student_quantile(freedom, _RICHER) ** 2
    else:
        critical = freedom / 2 * ((1 - _RICHER) ** (-2 / freedom) - 1)
    return (simpler - richer) / parameters > critical * richer / freedom


def _interval(curve: Array, limit: float, flat: float, model: str) -> tuple[float, float] | None:
    allowed = _EXPONENTS[curve <= limit]
    if not len(allowed):
        return (0.0, 0.0) if model == CONSTANT else None
    low, high = float(allowed.min()), float(allowed.max())
    if high >= _EXPONENTS[-1]:
        return None
    return (0.0 if model == CONSTANT or flat <= limit else low, high)


def _orders(n: Array, y: Array, limit: float, model: str) -> tuple[str, ...]:
    """Named orders that the data do not reject, with the other regime that the model allows."""
    shapes = np.array([shape(n) for shape in ORDERS.values()])
    if model == CONSTANT:
        least = _residuals(shapes, y)
    else:
        least = _best_overheads(shapes, y)[0]
        if model in (OVERHEAD, LINEAR):
            steep = np.array([name in _STEEP_ORDERS for name in ORDERS])
            beside = _best_overheads(shapes / n, y - np.log(n))[0]
            least = np.minimum(least, np.where(steep, beside, np.inf))
    return tuple(name for name, sum_ in zip(ORDERS, least, strict=True) if sum_ <= limit)
