"""Ticks are round, in range, and told apart by their labels at any zoom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab.figures.spec import LINEAR, LOG, Axis
from costlab.figures.ticks import ticks


def labels(axis: Axis, low: float, high: float, most: int = 8) -> list[str]:
    return [tick.label for tick in ticks(axis, low, high, most)]


def test_counts_are_at_powers_of_two() -> None:
    axis = Axis("n")
    assert labels(axis, 128, 2048) == ["128", "256", "512", "1k", "2k"]
    wide = [label for label in labels(axis, 1, 4_194_304) if label]
    assert wide == ["1", "32", "1k", "32k", "1M"]
    assert labels(Axis("n", "", LINEAR), 0, 65_536, 4) == ["0", "16k", "32k", "48k", "64k"]
    assert labels(axis, 8190, 8194, 4) == ["8190", "8191", "8192", "8193", "8194"]


def test_units() -> None:
    assert labels(Axis("t", "s"), 1e-5, 1, 7) == [
        "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s",
    ]  # fmt: skip
    assert labels(Axis("t", "s", LINEAR), 0, 0.04, 4) == [
        "0 s", "10 ms", "20 ms", "30 ms", "40 ms",
    ]  # fmt: skip
    assert labels(Axis("t", "s"), 100, 20_000, 7)[:3] == ["100 s", "200 s", "500 s"]
    assert labels(Axis("m", "B", LINEAR), 0, 2**31, 4) == [
        "0 B", "512 MiB", "1.0 GiB", "1.5 GiB", "2.0 GiB",
    ]  # fmt: skip
    assert labels(Axis("f", "FLOP"), 1e9, 1e13, 9)[-1] == "10 TFLOP"


@given(
    unit=st.sampled_from(["", "B", "s", "FLOP", "J"]),
    scale=st.sampled_from([LOG, LINEAR]),
    low=st.floats(1e-6, 1e12),
    ratio=st.floats(1.0001, 1e8),
    most=st.integers(2, 12),
)
def test_any_zoom(unit: str, scale: str, low: float, ratio: float, most: int) -> None:
    """Ascending, within the range, few enough, and never two equal labels."""
    if unit == "":
        low = max(low, 1.0)
    found = ticks(Axis("a", unit, scale), low, low * ratio, most)
    values = [tick.value for tick in found]
    assert values == sorted(set(values))
    assert all(low * (1 - 1e-6) <= value <= low * ratio * (1 + 1e-6) for value in values)
    shown = [tick.label for tick in found if tick.label]
    assert len(set(shown)) == len(shown)
    assert len(shown) <= 3 * most


@pytest.mark.parametrize("unit", ["", "B", "s"])
def test_a_deep_zoom_has_ticks(unit: str) -> None:
    low = 1_000_000.0 if unit != "s" else 1e-3
    assert len(ticks(Axis("a", unit), low, low * 1.00002, 6)) >= 2
