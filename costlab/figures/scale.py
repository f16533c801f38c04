"""Positions and nice ticks on linear and logarithmic axes. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from costlab.figures.spec import LOG, Axis
from costlab.units import format_value

INTENSITY = "FLOP/B"
_TICKS = 6
_STEPS = {10: (1, 2, 5, 10), 1024: (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)}


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values of an axis from [low, high] to [0, 1]."""

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
        """Round values within the scale, and their labels."""
        if self.axis.scale != LOG:
            base = 1024 if self.axis.unit == "B" else 10
            values = _linear_ticks(self.low, self.high, base)
        elif self.axis.unit in ("", "B"):
            values = _power_ticks(self.low, self.high, 2)
        else:
            values = _decimal_ticks(self.low, self.high)
        return [(value, tick_label(value, self.axis.unit)) for value in values]


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


def tick_label(value: float, unit: str) -> str:
    """Short text of a tick: "64k" (65 536), "2 MiB", "10 ms"; sizes are written as typed."""
    whole = round(value)
    if unit == INTENSITY:
        return format_value(whole if value >= 1 else value, "")
    if unit == "" and math.isclose(value, whole, rel_tol=1e-9):
        for power, letter in ((2**30, "G"), (2**20, "M"), (2**10, "k")):
            if whole and whole % power == 0:
                return f"{format_value(whole // power, '')}{letter}"
    number: float | int = whole if math.isclose(value, whole, rel_tol=1e-9) else value
    return format_value(number, unit)


def _linear_ticks(low: float, high: float, base: int = 10) -> list[float]:
    rough = (high - low) / _TICKS
    power = float(base) ** math.floor(math.log(rough, base))
    step = next(power * m for m in _STEPS[base] if power * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [(first + i) * step for i in range(count)]


def _power_ticks(low: float, high: float, base: int) -> list[float]:
    """Powers of ``base``, every second or third where there are many."""
    first = math.ceil(math.log(low, base) - 1e-9)
    last = math.floor(math.log(high, base) + 1e-9)
    if last - first < 1:
        return _decimal_ticks(low, high)
    stride = max(1, math.ceil((last - first + 1) / (_TICKS + 2)))
    return [float(Fraction(base) ** p) for p in range(first, last + 1, stride)]


def _decimal_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 of each decade where there are few decades, else powers of ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = math.log10(high / low)
    digits = (1, 2, 5) if decades < 2.5 else (1,)
    stride = max(1, math.ceil(decades / (_TICKS + 1)))
    values = [m * 10.0**p for p in range(first, last + 1, stride) for m in digits]
    inside = [v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
    return inside if len(inside) >= 2 else _linear_ticks(low, high)
