"""From values to pixels and back: the one place where plots take logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from costlab.figures.numbers import as_array
from costlab.figures.spec import LOG, Axis
from costlab.formulas.identity import cached_by_identity

Array = NDArray[np.float64]
_SMALLEST = 1e-300
_LOG_AXIS = Axis("")


def to_view(values: Sequence[float] | Array, axis: Axis) -> Array:
    """Values of an axis as coordinates of the view: their decimal logarithm on a log axis."""
    array = np.asarray(values, dtype=float)
    return np.log10(np.maximum(array, _SMALLEST)) if axis.scale == LOG else array


def coordinates(values: tuple[float, ...], axis: Axis) -> Array:
    """:func:`to_view` of values that many frames share: computed once for the same object."""
    return _logs(values) if axis.scale == LOG else as_array(values)


@cached_by_identity(512)
def _logs(values: tuple[float, ...]) -> Array:
    return to_view(as_array(values), _LOG_AXIS)


def coordinate(value: float, axis: Axis) -> float:
    """The coordinate of one value in the view."""
    return math.log10(max(value, _SMALLEST)) if axis.scale == LOG else value


def from_view(coordinate: float, axis: Axis) -> float:
    """The value at a coordinate of the view."""
    if axis.scale == LOG:
        return math.inf if coordinate > 300 else float(10.0 ** max(coordinate, -300.0))
    return coordinate


@dataclass(frozen=True, slots=True)
class Span:
    """A visible range in view coordinates and the pixels it lies on; ``low`` is at pixel ``start``.

    Pixels of y run downwards, so its ``start`` is the height and its ``length`` negative.
    """

    low: float
    high: float
    start: float
    length: float

    def pixels(self, coordinates: Array) -> Array:
        """Pixels of view coordinates."""
        return self.start + (coordinates - self.low) * (self.length / (self.high - self.low))

    def pixel(self, coordinate: float) -> float:
        return self.start + (coordinate - self.low) * (self.length / (self.high - self.low))

    def coordinate(self, pixel: float) -> float:
        """View coordinate at a pixel."""
        return self.low + (pixel - self.start) * (self.high - self.low) / self.length


@dataclass(frozen=True, slots=True)
class Frame:
    """The visible part of a plot: both axes with their spans, in a box of pixels from 0, 0."""

    x_axis: Axis
    y_axis: Axis
    x: Span
    y: Span
    width: float
    height: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Pixel of a pair of values."""
        return self.place_x(x), self.place_y(y)

    def place_x(self, value: float) -> float:
        return self.x.pixel(coordinate(value, self.x_axis))

    def place_y(self, value: float) -> float:
        return self.y.pixel(coordinate(value, self.y_axis))

    def value_x(self, pixel: float) -> float:
        """Value of the x axis at a pixel."""
        return from_view(self.x.coordinate(pixel), self.x_axis)

    def value_y(self, pixel: float) -> float:
        return from_view(self.y.coordinate(pixel), self.y_axis)


def padded(values: Array, air: float) -> tuple[float, float] | None:
    """Range of finite view coordinates with a share of ``air`` at both ends; None without any."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-30):
        half = 0.15 if low == 0 else max(abs(low) * 0.05, 1e-12)
        return low - half, high + half
    more = (high - low) * air
    return low - more, high + more
