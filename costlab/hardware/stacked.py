"""Bandwidths of many calls at once: what ``Rates.bytes_per_s`` gives, row by row of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.hardware.calibration_record import Curve
from costlab.hardware.rates import CalibratedRates, Rates

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class BandwidthBank:
    """Every bandwidth of a machine that was asked for, by number."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self._numbers: dict[Curve | tuple[str, str], int] = {}
        self._lines: _Lines | None = None

    def number(self, op: str, kind: str) -> int | None:
        """The number of the bandwidth that serves a call; None if there is none."""
        key: Curve | tuple[str, str] | None = (op, kind)
        if isinstance(self._rates, CalibratedRates):
            key = self._rates.curve(op, kind)
        elif self._rates.bytes_per_s(op, kind, 1.0) is None:
            return None
        if key is None:
            return None
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            self._lines = None
        return self._numbers[key]

    def at(self, numbers: Rows, size_bytes: Array) -> Array:
        """B/s of the bandwidths called ``numbers`` at sizes [rows, points].

        There is one point for all where no bandwidth depends on the size.
        """
        if isinstance(self._rates, CalibratedRates):
            if self._lines is None:
                self._lines = _Lines([key for key in self._numbers if isinstance(key, Curve)])
            return self._lines.at(numbers, size_bytes)
        calls = [key for key in self._numbers if not isinstance(key, Curve)]
        found: list[Any] = [self._rates.bytes_per_s(*call, size_bytes) for call in calls]
        if all(np.ndim(values) == 0 for values in found):
            return np.array(found, dtype=np.float64)[numbers, None]
        every = np.stack([np.broadcast_to(values, size_bytes.shape) for values in found])
        return every[numbers, np.arange(len(numbers))]


class _Lines:
    """Curves as straight lines of the logarithms between knots, one table for all of them."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        longest = max(len(curve.points) for curve in curves)
        # A curve with fewer points has knots that are never reached.
        self.knots = np.full((longest, len(curves)), np.inf)
        self.levels = np.zeros((len(curves), longest + 1))
        self.slopes = np.zeros((len(curves), longest + 1))
        for row, curve in enumerate(curves):
            sizes, rates = np.log(np.array(curve.points, dtype=float)).T
            # Below the first point the rate falls with the size, above the last one it stays.
            slopes = np.array([1.0, *(np.diff(rates) / np.diff(sizes)), 0.0])
            self.knots[: len(sizes), row] = sizes
            self.slopes[row, : len(slopes)] = slopes
            self.levels[row, : len(slopes)] = [
                rates[0] - sizes[0],
                *(rates - slopes[1:] * sizes),
            ]

    def at(self, numbers: Rows, sizes: Array) -> Array:
        logs = np.log(np.maximum(sizes, 1.0))
        passed = np.zeros(sizes.shape, dtype=np.uint8)
        for knots in self.knots[:, numbers]:
            passed += logs >= knots[:, None]
        place = passed + (numbers * self.slopes.shape[1])[:, None]
        logs *= self.slopes.take(place)
        logs += self.levels.take(place)
        return np.asarray(np.exp(logs, out=logs))
