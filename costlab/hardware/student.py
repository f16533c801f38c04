"""Student's distribution, for intervals from few values. Pure functions."""

from __future__ import annotations

import math


def student_probability(t: float, freedom: int) -> float:
    """Probability that a Student variable lies in [-t, t].

    The finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    theta = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2 == 1
    term = cosine if odd else 1.0
    series = 0.0 if freedom == 1 else term
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine**2 * (k - 1) / k
        series += term
    return 2 / math.pi * (theta + sine * series) if odd else sine * series


def student_quantile(freedom: int, level: float = 0.95) -> float:
    """The t for which a Student variable lies in [-t, t] with probability ``level``."""
    low, high = 0.0, 1.0
    while student_probability(high, freedom) < level:
        high *= 2
    for _step in range(80):
        middle = (low + high) / 2
        if student_probability(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return high
