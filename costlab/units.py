"""Names of units and the one number formatter.

Conventions: capacities are binary (1 GiB = 2**30 B), rates decimal (1 GB/s = 1e9 B/s), FLOP is a
count and FLOP/s a rate, and one multiply-add is 2 FLOP. Values are kept in base units (B, s, J, W,
FLOP) everywhere; only text has prefixes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Union

CONVENTION = "1 multiply-add = 2 FLOP; capacity in binary units (GiB), rates in decimal (GB/s)"

Number = Union[int, float, Fraction]

UNITS: Mapping[str, str] = {
    "flop": "FLOP",
    "flop_matmul": "FLOP",
    "flop_useful": "FLOP",
    "bytes": "B",
    "peak_bytes": "B",
    "peak_bytes_step": "B",
    "saved_bytes": "B",
    "state_bytes": "B",
    "reserved_bytes": "B",
    "device_bytes": "B",
    "rss_peak_bytes": "B",
    "parameters": "",
    "launches": "",
    "steps": "",
    "time": "s",
    "time_s": "s",
    "energy_j": "J",
    "power_w": "W",
    "flop_per_s": "FLOP/s",
    "bytes_per_s": "B/s",
}
"""Base unit of every quantity that results carry; "" is a plain count."""

_SI = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_SI_SMALL = ("", "m", "µ", "n", "p")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DIGITS = 3


def format_value(value: Number | None, unit: str) -> str:
    """Text of a value in a base unit, with three significant digits and a prefix.

    Args:
        value: the number in ``unit``; None is a missing value.
        unit: "B" (binary prefixes), "s", "J", "W", "FLOP", "FLOP/s", "B/s", or "" for a count.

    >>> format_value(3 * 2**30, "B"), format_value(2.5e9, "B/s"), format_value(0.00125, "s")
    ('3 GiB', '2.5 GB/s', '1.25 ms')
    """
    if value is None:
        return "n/a"
    if unit == "":
        return format_count(value)
    number = float(value) if not isinstance(value, int) else value
    if isinstance(number, float) and not math.isfinite(number):
        return "n/a" if math.isnan(number) else f"{'-' if number < 0 else ''}inf {unit}"
    if unit == "s" and abs(number) >= 120:
        return _long_time(float(number))
    if unit == "B":
        text, prefix = _scale(number, 1024, _BINARY)
    elif 0 < abs(number) < 1:
        text, prefix = _scale_down(float(number))
    else:
        text, prefix = _scale(number, 1000, _SI if unit != "s" else ("",))
    return f"{text} {prefix}{unit}"


def format_quantity(name: str, value: Number | None) -> str:
    """Text of the quantity ``name`` (a key of :data:`UNITS`)."""
    return format_value(value, UNITS[name])


def format_count(value: Number) -> str:
    """Text of a count: digits in groups of three, fractions to three significant digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value == int(value):
        return f"{int(value):,}".replace(",", " ")
    return _significant(float(value))


def format_ratio(value: Number | None) -> str:
    """Text of a factor, e.g. "1.24x"."""
    return "n/a" if value is None else f"{_significant(float(value))}x"


def format_percent(fraction: Number | None) -> str:
    """Text of a fraction as a percentage, e.g. 0.125 -> "12.5 %"."""
    return "n/a" if fraction is None else f"{_significant(100 * float(fraction))} %"


def parse_bytes(text: str) -> int:
    """Bytes of a capacity such as "24GiB", "80 GB" or "512MiB".

    Raises:
        ValueError: if ``text`` is not a positive number with a unit of bytes.
    """
    return int(_parse(text, _CAPACITIES))


def parse_seconds(text: str) -> float:
    """Seconds of a duration such as "100ms", "2m", "1.5 s" or "90".

    Raises:
        ValueError: if ``text`` is not a positive number, with a unit of time or none.
    """
    return float(_parse(text, _DURATIONS))


def parse_joules(text: str) -> float:
    """Joules of an energy such as "250 mJ", "5 J", "1.5kWh" or "90".

    Raises:
        ValueError: if ``text`` is not a positive number, with a unit of energy or none.
    """
    return float(_parse(text, _ENERGIES))


def parse_count(text: str) -> int:
    """A count such as "300B", "1.5T", "20M" or "4096"; prefixes are decimal, B is 1e9.

    Raises:
        ValueError: if ``text`` is not a positive whole number with such a prefix or none.
    """
    value = _parse(text, _COUNTS)
    if value.denominator != 1:
        raise ValueError(f"{text!r} is no whole number")
    return int(value)


def parse_rate(text: str) -> float:
    """Bytes per second of a rate such as "900GB/s", "400 Gb/s" or "25GB/s" (b is a bit).

    Raises:
        ValueError: if ``text`` is not a positive number with a unit of bytes or bits per second.
    """
    number = text.strip()
    for unit, bits in (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6)):
        if number.endswith(unit):
            return float(_parse(number.removesuffix(unit), {"": Fraction(1)})) * bits / 8
    if not number.endswith("/s"):
        raise ValueError(f"{text!r} is no rate such as 25GB/s or 200Gb/s")
    return float(parse_bytes(number.removesuffix("/s")))


def parse_frequency(text: str) -> float:
    """Events per second: "50/s", "3/min", "2.5" or "1k/s".

    Raises:
        ValueError: if ``text`` is not a positive number of them.
    """
    number, slash, unit = text.strip().partition("/")
    seconds = {"": 1, "s": 1, "min": 60, "h": 3600}
    if unit.strip() not in seconds or (slash and not unit.strip()):
        raise ValueError(f"{text!r} is no rate such as 50/s")
    return float(_parse(number, _COUNTS)) / seconds[unit.strip()]


_COUNTS: Mapping[str, Fraction] = {"": Fraction(1)} | {
    name: Fraction(10**power) for name, power in (("k", 3), ("M", 6), ("B", 9), ("G", 9), ("T", 12))
}
_CAPACITIES: Mapping[str, Fraction] = {"B": Fraction(1)} | {
    f"{prefix}{suffix}": Fraction(base**power)
    for power, prefix in enumerate("KMGTP", start=1)
    for suffix, base in (("iB", 1024), ("B", 1000))
}
_DURATIONS: Mapping[str, Fraction] = {
    "": Fraction(1),
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "min": Fraction(60),
    "h": Fraction(3600),
}


_ENERGIES: Mapping[str, Fraction] = {
    "": Fraction(1),
    "mJ": Fraction(1, 1000),
    "J": Fraction(1),
    "kJ": Fraction(1000),
    "Wh": Fraction(3600),
    "kWh": Fraction(3_600_000),
}


def _parse(text: str, factors: Mapping[str, Fraction]) -> Fraction:
    stripped = text.strip()
    digits = len(stripped) - len(stripped.lstrip("0123456789."))
    unit = stripped[digits:].strip()
    known = ", ".join(name for name in factors if name)
    if not digits:
        raise ValueError(f"{text!r} is no positive number (with {known})")
    lookup = {name.lower(): factor for name, factor in factors.items()}
    if unit.lower() not in lookup:
        raise ValueError(f"{text!r} has no unit among {known}")
    value: Fraction = Fraction(stripped[:digits]) * lookup[unit.lower()]
    if value <= 0:
        raise ValueError(f"{text!r} is not positive")
    return value


def _significant(number: float) -> str:
    """Three significant digits without an exponent where the number is of everyday size."""
    if number == 0:
        return "0"
    exponent = math.floor(math.log10(abs(number)))
    if not -5 <= exponent < 15:
        return f"{number:.{_DIGITS - 1}e}"
    decimals = max(_DIGITS - 1 - exponent, 0)
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scale(number: int | float, base: int, prefixes: tuple[str, ...]) -> tuple[str, str]:
    index = 0
    scaled = float(number)
    # 999.6 would be written as 1000: the next prefix says it better.
    while abs(scaled) >= base - 0.5 and index < len(prefixes) - 1:
        scaled = scaled / base
        index += 1
    return _significant(scaled), prefixes[index]


def _scale_down(number: float) -> tuple[str, str]:
    index = 0
    while abs(number) < 0.9995 and index < len(_SI_SMALL) - 1:
        number *= 1000
        index += 1
    return _significant(number), _SI_SMALL[index]


def _long_time(seconds: float) -> str:
    sign = "-" if seconds < 0 else ""
    seconds = abs(seconds)
    for length, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * length or length == 60:
            return f"{sign}{_significant(seconds / length)} {name}"
    raise AssertionError("unreachable")
