"""A smooth surface through measured rates: the logarithm of a rate over logarithms of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.hardware.calibration_record import ShapedRate

Array = NDArray[np.float64]
# Rates change over about two doublings of a dimension, by up to a factor of e (an amplitude of 1),
# and are measured to about 12 %.
_LENGTH = 2.5
_NOISE = 0.12
_SLOPE_PENALTY = 4.0  # keeps slopes of dimensions that hardly vary near 0


@dataclass(frozen=True)
class Surface:
    """Gaussian-process regression with a linear trend (Rasmussen and Williams 2006, section 2.7).

    Beyond the measured sizes the rate is that of the nearest measured size, by dimension, and no
    shape has a higher rate than any that was measured: where several dimensions are large that
    were only measured one by one, the trend would go on.

    Attributes:
        known: log2 of the measured shapes, [points, dimensions].
        trend: intercept and slopes, [1 + dimensions].
        weights: of the kernel at each point, [points].
        best: the highest measured rate.
    """

    known: Array
    trend: Array
    weights: Array
    best: float

    @classmethod
    def through(cls, rates: Sequence[ShapedRate]) -> Surface:
        """The surface near all of ``rates``."""
        known = np.log2(np.array([rate.shape for rate in rates], dtype=float))
        logs = np.log([rate.flop_per_s for rate in rates])
        design = np.column_stack([np.ones(len(rates)), known])
        penalty = np.diag([1e-9, *[_SLOPE_PENALTY] * known.shape[1]])
        trend = np.linalg.solve(design.T @ design + penalty, design.T @ logs)
        covariance = _kernel(_squared_distance(known, known)) + _NOISE**2 * np.eye(len(rates))
        weights = np.linalg.solve(covariance, logs - design @ trend)
        return cls(known, trend, weights, max(rate.flop_per_s for rate in rates))

    @cached_property
    def _levels(self) -> list[tuple[Array, Array]]:
        """By dimension the different known sizes, and which of them each point has: 0 or 1."""
        found = [np.unique(column, return_inverse=True) for column in self.known.T]
        return [(known, np.eye(len(known))[place]) for known, place in found]

    def at(self, shape: Sequence[Any]) -> Array:
        """The rate at ``shape``: numbers or arrays that broadcast.

        The kernel is a product over dimensions; those with one size along the last axis become
        part of the weights.
        """
        sizes = [np.asarray(size, dtype=float) for size in shape]
        extent = np.broadcast_shapes(*(size.shape for size in sizes))
        logs: Any = self.trend[0]
        weights = self.weights
        varying: list[tuple[Array, Array]] = []
        for size, slope, (known, member) in zip(sizes, self.trend[1:], self._levels, strict=True):
            size = np.atleast_1d(size)
            wanted = np.log2(np.maximum(size, 1.0))
            wanted = np.minimum(np.maximum(wanted, known[0]), known[-1])
            near = _kernel(np.square(wanted[..., None] - known))
            logs = logs + slope * wanted
            if size.shape[-1] == 1:
                weights = weights * (near[..., 0, :] @ member.T)
            else:
                varying.append((near, member))
        found = np.minimum(np.exp(logs + _total(weights, varying)), self.best)
        return np.asarray(found).reshape(extent)


def _total(weights: Array, varying: Sequence[tuple[Array, Array]]) -> Array:
    """The sum over points of weights [..., points] and of each dimension that varies.

    A dimension is its factors [..., wanted, known sizes] and what known size each point has.
    """
    if not varying:
        return np.asarray(weights.sum(axis=-1, keepdims=True))
    (first, of_first), *others = varying
    if not others:
        return np.asarray((first @ (weights @ of_first)[..., None])[..., 0])
    (second, of_second), *more = others
    if not more:
        joint = np.swapaxes(of_first * weights[..., None], -1, -2) @ of_second
        return np.asarray(((first @ joint) * second).sum(axis=-1))
    product = first[..., of_first.argmax(axis=1)]
    for near, member in others:
        product *= near[..., member.argmax(axis=1)]
    return np.asarray(np.einsum("...p,...p->...", product, weights[..., None, :]))


def _squared_distance(a: Array, b: Array) -> Array:
    """Between every row of ``a`` and every row of ``b``; one matrix product instead of a loop."""
    distance = a @ (-2.0 * b.T)
    distance += np.square(a).sum(axis=1)[:, None]
    distance += np.square(b).sum(axis=1)
    return np.asarray(distance)


def _kernel(squared_distance: Array) -> Array:
    return np.asarray(np.exp(squared_distance / (-2 * _LENGTH**2)))
