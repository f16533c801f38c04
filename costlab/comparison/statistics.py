"""Slopes in log-log with intervals, and the noise of process medians. Pure functions."""

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


@dataclass(frozen=True, slots=True)
class Noise:
    """Scatter of the logarithm of process medians, pooled over points.

    ``counts`` are the processes of each point, ``freedom`` the degrees of freedom altogether.
    """

    deviation: float
    counts: tuple[int, ...]
    freedom: int


def pooled_noise(samples: Sequence[Sequence[float]]) -> Noise | None:
    """Noise of the points' process medians; None if a point has fewer than two.

    Args:
        samples: positive times of the processes of each point.
    """
    if not samples or any(len(of_one) < 2 for of_one in samples):
        return None
    squares = 0.0
    for of_one in samples:
        logs = [math.log(value) for value in of_one]
        middle = sum(logs) / len(logs)
        squares += sum((value - middle) ** 2 for value in logs)
    counts = tuple(len(of_one) for of_one in samples)
    freedom = sum(counts) - len(counts)
    return Noise(math.sqrt(squares / freedom), counts, freedom)


def slope_half_width(
    x: Sequence[float], weights: Sequence[float], noise: Noise, level: float = 0.95
) -> float:
    """Half width of the interval of a weighted slope through medians with ``noise``.

    A median of normal values scatters sqrt(pi / 2) times as much as their mean.
    """
    total = sum(weights)
    mean_x = sum(w * a for w, a in zip(weights, x, strict=True)) / total
    pulls = [w * (a - mean_x) for w, a in zip(weights, x, strict=True)]
    spread = sum(pull * (a - mean_x) for pull, a in zip(pulls, x, strict=True))
    variance = sum(
        (pull / spread) ** 2 / count for pull, count in zip(pulls, noise.counts, strict=True)
    )
    error = noise.deviation * math.sqrt(math.pi / 2 * variance)
    return student_quantile(noise.freedom, level) * error


def log_crossing(x: Sequence[float], ratio: Sequence[float]) -> float | None:
    """First x where ``ratio`` passes 1, on straight lines in log-log; None where it never does."""
    for (x0, r0), (x1, r1) in itertools.pairwise(zip(x, ratio, strict=True)):
        l0, l1 = math.log(r0), math.log(r1)
        if l0 == 0:
            return x0
        if l0 * l1 < 0:
            return math.exp(math.log(x0) + math.log(x1 / x0) * l0 / (l0 - l1))
    return None
