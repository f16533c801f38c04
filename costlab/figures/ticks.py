"""Ticks of an axis over any range, deep zoom included, and labels that tell them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

from costlab.figures.spec import LOG, Axis

INTENSITY = "FLOP/B"
"""Unit of a roofline's x axis, which its label says: no tick repeats it."""

_BINARY_UNITS = ("", "B")
_COUNT_PREFIXES = ("", "k", "M", "G", "T", "P")
_BYTE_PREFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SI_PREFIXES = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P",
                6: "E", 7: "Z", 8: "Y"}  # fmt: skip
NARROW = "\N{NARROW NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis; ``label`` is "" where only a grid line is drawn."""

    value: float
    label: str


def ticks(axis: Axis, low: float, high: float, most: int = 8) -> list[Tick]:
    """Round values from ``low`` to ``high``, ascending.

    Counts and bytes are at multiples of powers of two ("8k" is 8 192), all else at decimal ones.

    Args:
        axis: its unit and scale.
        low: lower end of the axis; above 0 if it is logarithmic.
        high: upper end, above ``low``.
        most: how many labels there is room for, at least 2.
    """
    binary = axis.unit in _BINARY_UNITS
    most = max(most, 2)
    if axis.scale == LOG:
        found = _powers(low, high, most, 2 if binary else 10)
        if found is not None:
            return [Tick(v, label(v, axis.unit) if shown else "") for v, shown in found]
    step = _step((high - low) / most, binary)
    if axis.unit == "" and step < 1 and high - low >= 2:
        step = 1.0
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [index * step for index in range(first, last + 1)]
    return [Tick(value, label(value, axis.unit, step)) for value in values]


def label(value: float, unit: str, step: float | None = None) -> str:
    """Text of a tick: "8k", "2 MiB", "10 ms", "5 GFLOP".

    Args:
        value: in the base unit.
        unit: see ``costlab.units``.
        step: distance to the next tick, which decides how many digits are needed; None: ``value``
            is a round number.
    """
    if unit in ("", INTENSITY):
        return _count(value, step)
    if value == 0:
        return f"0 {unit}"
    if unit == "%":
        return f"{_digits(value, step).replace('e-0', 'e-')} %"
    if unit == "B":
        power = _binary_power(value, len(_BYTE_PREFIXES) - 1)
        factor, prefix = 1024.0**power, _BYTE_PREFIXES[power]
    else:
        power = math.floor(math.log10(abs(value)) / 3 + 1e-9)
        power = min(max(power, -4), 0 if unit == "s" else 8)
        factor, prefix = 1000.0**power, _SI_PREFIXES[power]
    return f"{_digits(value / factor, None if step is None else step / factor)} {prefix}{unit}"


def _count(value: float, step: float | None) -> str:
    whole = round(value)
    if not math.isclose(value, whole, rel_tol=1e-9, abs_tol=1e-12):
        return _digits(value, step)
    # Beside 8190, 8192 is not "8k".
    round_steps = step is None or step % 1024 == 0
    for power in range(len(_COUNT_PREFIXES) - 1, 0, -1):
        if whole and round_steps and whole % 1024**power == 0:
            return f"{_grouped(whole // 1024**power)}{_COUNT_PREFIXES[power]}"
    return _grouped(whole)


def _grouped(whole: int) -> str:
    text = f"{whole:,}"
    return text.replace(",", NARROW) if abs(whole) >= 10_000 else text.replace(",", "")


def _digits(number: float, step: float | None) -> str:
    """As many digits as tell ``number`` from ``number + step``."""
    needed = 0
    if step is None:
        text = f"{number:.12g}"
        return _grouped(int(number)) if number == int(number) and abs(number) < 1e15 else text
    while needed < 12 and not math.isclose(step * 10**needed, round(step * 10**needed)):
        needed += 1
    if needed > 3:
        # Binary steps have endless decimals: two digits of the step are enough.
        needed = max(1 - math.floor(math.log10(step)), 0)
    text = f"{number:.{needed}f}"
    whole, point, rest = text.partition(".")
    return _grouped(int(whole)) + point + rest if abs(number) >= 10_000 else text


def _binary_power(value: float, most: int) -> int:
    power = 0
    while abs(value) >= 1024 * (1 - 1e-12) and power < most:
        value /= 1024
        power += 1
    return power


def _powers(low: float, high: float, most: int, base: int) -> list[tuple[float, bool]] | None:
    """Powers of ``base`` within [low, high] and which have labels; None if they are too few.

    Between few decades stand 2 and 5 as well.
    """
    first = math.ceil(math.log(low, base) - 1e-9)
    last = math.floor(math.log(high, base) + 1e-9)
    count = last - first + 1
    if base == 10 and math.log10(high / low) < min(3.0, most / 3):
        marks = [m * 10.0**p for p in range(first - 1, last + 1) for m in (1, 2, 5)]
        inside = [v for v in marks if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
        return [(v, True) for v in inside] if len(inside) >= 3 else None
    if count < 3:
        return None
    stride = math.ceil(count / most)
    if stride > 2 and base == 2:
        # Every fifth or tenth power of two: steps that people know (1, 32, 1k, 32k, 1M).
        stride = 5 if stride <= 5 else 10 * math.ceil(stride / 10)
    lines = 1 if count <= 4 * most else stride
    return [(float(base) ** p, p % stride == 0) for p in range(first, last + 1) if p % lines == 0]


def _step(rough: float, binary: bool) -> float:
    """The next round step from ``rough`` on: 1, 2, 5 times a power of ten, or a power of two."""
    if binary:
        return 2.0 ** math.ceil(math.log2(rough) - 1e-9)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
