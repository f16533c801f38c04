"""Which sizes a slider stops at: those that models are really built with."""

from __future__ import annotations

import math
from dataclasses import dataclass

NOTCHES = 100
"""Positions of a slider per doubling."""

_HALVES = (1.0, 1.5)
_QUARTERS = (1.0, 1.25, 1.5, 1.75)
_SEARCH = 4096


@dataclass(frozen=True, slots=True)
class Snap:
    """The sizes to stop at: powers of two and 1.5 times them, in the unit ``multiple``.

    Attributes:
        multiple: every stop is a multiple of it (what must divide the size).
        divisor_of: every stop divides it; 0: anything does.
        quarters: also 1.25 and 1.75 times the powers of two.
    """

    multiple: int = 1
    divisor_of: int = 0
    quarters: bool = False

    def nearest(self, value: float, low: int = 1, high: int | None = None) -> int:
        """The stop nearest to ``value`` on a logarithmic scale, within ``low`` and ``high``."""
        wanted = max(value, 1.0)
        unit = wanted / self.multiple
        power = math.floor(math.log2(max(unit, 1.0)))
        parts = _QUARTERS if self.quarters else _HALVES
        candidates = {
            int(part * 2**exponent) * self.multiple
            for exponent in (power - 1, power, power + 1)
            for part in parts
            if part * 2**exponent == int(part * 2**exponent)
        }
        # The ends of the range can always be reached.
        candidates |= {end for end in (low, high) if end is not None}
        good = [one for one in candidates if self._allows(one, low, high)]
        if not good:
            return self.valid(wanted, low, high)
        return min(good, key=lambda one: (abs(math.log(one / wanted)), one))

    def valid(self, value: float, low: int = 1, high: int | None = None) -> int:
        """The size nearest to ``value`` that divides and is divided as it must."""
        size = max(round(value / self.multiple), 1) * self.multiple
        if high is not None and size > high:
            size = max(high // self.multiple, 1) * self.multiple
        if size < low:
            size = -(-low // self.multiple) * self.multiple
        for step in range(_SEARCH if self.divisor_of else 0):
            for one in (size - step, size + step):
                if one >= 1 and self._allows(one, low, high):
                    return one
        return size

    def stepped(self, value: int, factor: float, low: int, high: int) -> int:
        """``value`` times ``factor``, at least one step further, within ``low`` and ``high``."""
        down = factor < 1
        for tries in range(_SEARCH):
            moved = value * factor + (-tries if down else tries) * self.multiple
            found = self.valid(min(max(moved, low), high), low, high)
            if (found < value) if down else (found > value):
                return found
            if not low <= moved <= high:
                break
        return value

    def _allows(self, size: int, low: int, high: int | None) -> bool:
        return (
            size >= max(low, 1)
            and (high is None or size <= high)
            and size % self.multiple == 0
            and (not self.divisor_of or self.divisor_of % size == 0)
        )


def notch(size: float) -> int:
    """The slider's position of a size."""
    return round(NOTCHES * math.log2(max(size, 1)))


def size_at(position: int) -> float:
    """The size of a slider's position; not whole in general."""
    return float(2.0 ** (position / NOTCHES))
