"""Where sliders stop."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab_gui.model.snapping import NOTCHES, Snap, notch, size_at

SIZES = st.integers(1, 2**30)


@given(SIZES)
def test_stops_are_powers_of_two_and_half_as_much_again(value: int) -> None:
    found = Snap().nearest(value)
    odd = found // (found & -found)
    assert odd in (1, 3)
    assert abs(math.log2(found / value)) <= 0.3


@given(SIZES, st.integers(1, 300))
def test_stops_keep_what_must_divide_them(value: int, multiple: int) -> None:
    assert Snap(multiple, quarters=True).nearest(value) % multiple == 0
    assert Snap(multiple).valid(value) % multiple == 0
    assert abs(Snap(multiple).valid(value) - value) < multiple


@given(st.floats(1, 300), st.sampled_from([512, 520, 768, 1000, 65_536]))
def test_stops_divide_what_they_must(value: float, whole: int) -> None:
    assert whole % Snap(divisor_of=whole).nearest(value, 1, 256) == 0


@pytest.mark.parametrize(
    ("value", "stop"), [(1000, 1024), (1200, 1280), (1500, 1536), (1700, 1792), (1900, 1792)]
)
def test_widths_stop_at_quarters(value: int, stop: int) -> None:
    assert Snap(8, quarters=True).nearest(value) == stop


@given(SIZES, st.sampled_from([2.0, 2**0.1]), st.integers(1, 64))
def test_a_step_always_moves_until_the_end(value: int, factor: float, multiple: int) -> None:
    low, high = multiple, 2**31
    value = max(value // multiple, 1) * multiple
    up = Snap(multiple).stepped(value, factor, low, high)
    down = Snap(multiple).stepped(value, 1 / factor, low, high)
    assert up > value and up % multiple == 0
    assert down < value or value == low
    assert Snap(multiple).stepped(high, factor, low, high) == high


@given(SIZES)
def test_doubling_is_exact(value: int) -> None:
    assert Snap().stepped(value, 2.0, 1, 2**31) == 2 * value


@given(SIZES)
def test_notches_are_a_hundred_per_doubling(value: int) -> None:
    assert notch(2 * value) - notch(value) == NOTCHES
    assert size_at(notch(value)) == pytest.approx(value, rel=2 ** (0.5 / NOTCHES) - 1 + 1e-9)
