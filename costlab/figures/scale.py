"""Positions on linear and logarithmic axes. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from costlab.figures.spec import LOG, Axis
from costlab.figures.ticks import NARROW, ticks

_TICKS = 6


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values of an axis from [low, high] to [0, 1]; a linear one may fall (low > high)."""

    axis: Axis
    low: float
    high: float

    def position(self, value: float) -> float:
        """0 at ``low``, 1 at ``high``; outside values lie outside [0, 1]."""
        if self.axis.scale == LOG:
            return math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, position: float) -> float:
        """Inverse of :meth:`position`."""
        if self.axis.scale == LOG:
            return self.low * math.exp(position * math.log(self.high / self.low))
        return self.low + position * (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values within the scale, and their labels: those of the app's plots."""
        most = _TICKS + 2 if self.axis.scale == LOG else _TICKS
        found = ticks(self.axis, min(self.low, self.high), max(self.low, self.high), most)
        # Not every font of a reader's has the narrow space.
        return [(tick.value, tick.label.replace(NARROW, " ")) for tick in found if tick.label]


def scale_of(axis: Axis, values: Iterable[float], air: float = 0.05) -> Scale:
    """The axis's window, or a scale that holds all finite ``values`` (on a log axis the positive).

    Args:
        axis: what it is a scale of.
        values: what is to be shown.
        air: share of the span that is left free at either end.

    Raises:
        ValueError: if there is no value.
    """
    if axis.window is not None:
        return Scale(axis, *axis.window)
    used = [v for v in values if math.isfinite(v) and (v > 0 or axis.scale != LOG)]
    if not used:
        raise ValueError(f"nothing to draw on the axis {axis.label!r}")
    low, high = min(used), max(used)
    if axis.scale == LOG:
        factor = max((high / low) ** air, 1.0 + air)
        return Scale(axis, low / factor, high * factor)
    low = min(low, 0.0)
    free = (high - low or abs(high) or 1.0) * air
    return Scale(axis, low - (free if low < 0 else 0.0), high + free)
