"""Numbers that count the scalar operations done with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Counter:
    """How many scalar operations its numbers have done."""

    operations: int = 0

    def numbers(self, values: list[float]) -> list[Number]:
        return [Number(value, self) for value in values]


def _value(other: Number | float) -> float:
    return other.value if isinstance(other, Number) else other


@dataclass
class Number:
    """A float whose every operation is counted once."""

    value: float
    counter: Counter = field(repr=False)

    def _done(self, value: float) -> Number:
        self.counter.operations += 1
        return Number(value, self.counter)

    def __add__(self, other: Number | float) -> Number:
        return self._done(self.value + _value(other))

    __radd__ = __add__

    def __sub__(self, other: Number | float) -> Number:
        return self._done(self.value - _value(other))

    def __rsub__(self, other: float) -> Number:
        return self._done(other - self.value)

    def __mul__(self, other: Number | float) -> Number:
        return self._done(self.value * _value(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Number | float) -> Number:
        return self._done(self.value / _value(other))

    def __rtruediv__(self, other: float) -> Number:
        return self._done(other / self.value)

    def __neg__(self) -> Number:
        return self._done(-self.value)

    def __abs__(self) -> Number:
        return self._done(abs(self.value))

    def max(self, other: Number | float) -> Number:
        """The greater of two: one comparison."""
        return self._done(max(self.value, _value(other)))

    def min(self, other: Number | float) -> Number:
        return self._done(min(self.value, _value(other)))

    def above(self, other: float) -> bool:
        self._done(0.0)
        return self.value > other

    def apply(self, function: Callable[[float], float]) -> Number:
        """A function of the maths library: one operation."""
        return self._done(function(self.value))


def exp(x: Number) -> Number:
    return x.apply(math.exp)


def log(x: Number) -> Number:
    return x.apply(math.log)


def log1p(x: Number) -> Number:
    return x.apply(math.log1p)


def sqrt(x: Number) -> Number:
    return x.apply(math.sqrt)


def tanh(x: Number) -> Number:
    return x.apply(math.tanh)


def erf(x: Number) -> Number:
    return x.apply(math.erf)
