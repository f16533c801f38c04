"""Slopes in log-log with intervals. Pure functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from costlab.hardware.student import student_quantile


@dataclass(frozen=True, slots=True)
class Slope:
    """A fitted exponent and the half width of its interval (infinite with fewer than 3 points)."""

    value: float
    half_width: float


def fit_slope(
    x: Sequence[float], y: Sequence[float], weights: Sequence[float], level: float = 0.95
) -> Slope:
    """Weighted least squares slope of ``y`` over ``x`` with a Student interval.

    The scatter about the line sets the width, so weights need only be right up to a factor.

    Args:
        x: at least two distinct values.
        y: as many values.
        weights: inverse variances of ``y`` up to a common factor.
        level: probability that the interval covers the slope.
    """
    total = sum(weights)
    mean_x = sum(w * a for w, a in zip(weights, x, strict=True)) / total
    mean_y = sum(w * a for w, a in zip(weights, y, strict=True)) / total
    spread = sum(w * (a - mean_x) ** 2 for w, a in zip(weights, x, strict=True))
    value = (
        sum(w * (a - mean_x) * (c - mean_y) for w, a, c in zip(weights, x, y, strict=True)) / spread
    )
    freedom = len(x) - 2
    if freedom < 1:
        return Slope(value, math.inf)
    scatter = sum(
        w * (c - mean_y - value * (a - mean_x)) ** 2 for w, a, c in zip(weights, x, y, strict=True)
    )
    error = math.sqrt(scatter / freedom / spread)
    return Slope(value, student_quantile(freedom, level) * error)


def log_crossing(x: Sequence[float], ratio: Sequence[float]) -> float | None:
    """First x where ``ratio`` passes 1, on straight lines in log-log; None where it never does."""
    for (x0, r0), (x1, r1) in itertools.pairwise(zip(x, ratio, strict=True)):
        l0, l1 = math.log(r0), math.log(r1)
        if l0 == 0:
            return x0
        if l0 * l1 < 0:
            return math.exp(math.log(x0) + math.log(x1 / x0) * l0 / (l0 - l1))
    return None
