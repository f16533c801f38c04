"""Numbers as text, against values worked out by hand."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab import units


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0, "B", "0 B"),
        (512, "B", "512 B"),
        (1023, "B", "1023 B"),
        (1024, "B", "1 KiB"),
        (1536, "B", "1.5 KiB"),
        (2**20 - 1, "B", "1 MiB"),
        (24 * 2**30, "B", "24 GiB"),
        (3.35e12, "B/s", "3.35 TB/s"),
        (999_999, "FLOP", "1 MFLOP"),
        (4_294_967_296, "FLOP", "4.29 GFLOP"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (1.25e-3, "s", "1.25 ms"),
        (999.9e-6, "s", "1 ms"),
        (37e-6, "s", "37 µs"),
        (4.2e-9, "s", "4.2 ns"),
        (1.5, "s", "1.5 s"),
        (119, "s", "119 s"),
        (150, "s", "2.5 min"),
        (3 * 3600, "s", "3 h"),
        (200_000, "s", "2.31 d"),
        (0.045, "J", "45 mJ"),
        (1500, "J", "1.5 kJ"),
        (350, "W", "350 W"),
        (-2048, "B", "-2 KiB"),
        (None, "s", "n/a"),
        (math.nan, "s", "n/a"),
        (math.inf, "s", "inf s"),
        (1234567, "", "1 234 567"),
        (2.5, "", "2.5"),
    ],
)
def test_format_value(value: float | None, unit: str, expected: str) -> None:
    assert units.format_value(value, unit) == expected


def test_format_quantity_knows_the_unit() -> None:
    assert units.format_quantity("peak_bytes", 2**31) == "2 GiB"
    assert units.format_quantity("steps", 4096) == "4 096"


@given(st.floats(min_value=1e-9, max_value=1e20), st.sampled_from(["s", "J", "FLOP/s", "B/s"]))
def test_text_has_three_significant_digits(value: float, unit: str) -> None:
    """Reading the text back gives the value to within half a unit of the third digit."""
    number, name = re.fullmatch(r"(\S+) (\S+)", units.format_value(value, unit)).groups()  # type: ignore[union-attr]
    factors = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
    factors |= {"m": 1e-3, "µ": 1e-6, "n": 1e-9, "p": 1e-12}
    if name in ("min", "h", "d"):
        read = float(number) * {"min": 60, "h": 3600, "d": 86400}[name]
    else:
        read = float(number) * factors[name.removesuffix(unit)]

    assert read == pytest.approx(value, rel=5.1e-3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("24GiB", 24 * 2**30), ("80 GB", 80 * 10**9), ("1.5kib", 1536), ("17B", 17)],
)
def test_parse_bytes(text: str, expected: int) -> None:
    assert units.parse_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100ms", 0.1), ("2m", 120.0), ("90", 90.0), ("1.5 s", 1.5), ("250us", 0.00025)],
)
def test_parse_seconds(text: str, expected: float) -> None:
    assert units.parse_seconds(text) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("text", ["", "GiB", "-1GiB", "24 apples", "24", "0B", "1.2.3GiB"])
def test_parse_bytes_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text)) + "|literal"):
        units.parse_bytes(text)


def test_ratio_and_percent() -> None:
    assert units.format_ratio(1.236) == "1.24x"
    assert units.format_percent(0.125) == "12.5 %"
    assert units.format_percent(None) == "n/a"


@pytest.mark.parametrize(
    ("text", "expected"), [("50/s", 50), ("3/min", 0.05), ("2.5", 2.5), ("1k/s", 1000)]
)
def test_parse_frequency(text: str, expected: float) -> None:
    assert units.parse_frequency(text) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("text", ["", "50/", "50/d", "0/s", "-1/s", "s/50", "fast"])
def test_no_frequency(text: str) -> None:
    with pytest.raises(ValueError, match=r"rate|unit|positive|literal"):
        units.parse_frequency(text)
