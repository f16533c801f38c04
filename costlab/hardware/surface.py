"""A smooth surface through measured rates: the logarithm of a rate over logarithms of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.hardware.calibration_record import ShapedRate

Array = NDArray[np.float64]
# Rates change over about two doublings of a dimension, by up to a factor of e, and are measured
# to about 12 %.
_LENGTH = 2.5
_AMPLITUDE = 1.0
_NOISE = 0.12
_SLOPE_PENALTY = 4.0  # keeps slopes of dimensions that hardly vary near 0


@dataclass(frozen=True, slots=True)
class Surface:
    """Gaussian-process regression with a linear trend (Rasmussen and Williams 2006, section 2.7).

    Beyond the measured sizes the rate is that of the nearest measured size, by dimension.

    Attributes:
        known: log2 of the measured shapes, [points, dimensions].
        trend: intercept and slopes, [1 + dimensions].
        weights: of the kernel at each point, [points].
    """

    known: Array
    trend: Array
    weights: Array

    @classmethod
    def through(cls, rates: Sequence[ShapedRate]) -> Surface:
        """The surface near all of ``rates``."""
        known = np.log2(np.array([rate.shape for rate in rates], dtype=float))
        logs = np.log([rate.flop_per_s for rate in rates])
        design = np.column_stack([np.ones(len(rates)), known])
        penalty = np.diag([1e-9, *[_SLOPE_PENALTY] * known.shape[1]])
        trend = np.linalg.solve(design.T @ design + penalty, design.T @ logs)
        covariance = _kernel(_squared_distance(known, known)) + _NOISE**2 * np.eye(len(rates))
        return cls(known, trend, np.linalg.solve(covariance, logs - design @ trend))

    def at(self, shape: Sequence[Any]) -> Array:
        """The rate at ``shape``: numbers or arrays that broadcast."""
        lows, highs = self.known.min(axis=0), self.known.max(axis=0)
        sizes = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in shape))
        extent = sizes[0].shape
        wanted = np.log2(np.maximum(np.stack([x.ravel() for x in sizes], axis=1), 1.0))
        wanted = np.clip(wanted, lows, highs)
        near = _kernel(_squared_distance(wanted, self.known))
        logs = self.trend[0] + wanted @ self.trend[1:] + near @ self.weights
        return np.asarray(np.exp(logs).reshape(extent))


def _squared_distance(a: Array, b: Array) -> Array:
    """Between every row of ``a`` and every row of ``b``; one matrix product instead of a loop."""
    distance = a @ (-2.0 * b.T)
    distance += np.square(a).sum(axis=1)[:, None]
    distance += np.square(b).sum(axis=1)
    return np.asarray(distance)


def _kernel(squared_distance: Array) -> Array:
    return np.asarray(_AMPLITUDE**2 * np.exp(squared_distance / (-2 * _LENGTH**2)))
