"""Bits per element against published overheads, and bytes per parameter of training."""

from __future__ import annotations

from fractions import Fraction

import pytest

from costlab.errors import InputError, UnknownNameError
from costlab.planning.precision import FORMATS, Format, named, precision


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("nf4", 4 + 0.5),  # QLoRA, section 3: 0.5 bits of constants per parameter
        ("nf4-dq", 4 + 0.127),  # and 0.127 with double quantisation
        ("int4-g128", 32 / 7.7575),  # 32 to 4 bits with 16-bit scales per 128 saves 7.76 times
        ("mxfp4", 4.25),
        ("nvfp4", 4.5),
        ("bf16-2:4", 9),
    ],
)
def test_scales_and_indices_are_counted(name: str, bits: float) -> None:
    assert float(FORMATS[name].bits_per_element) == pytest.approx(bits, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "weights", "gradients", "optimizer"),
    [
        ("mixed", 2, 2, 12),  # ZeRO, section 3.1: K = 12
        ("mixed-fp32-grads", 2, 4, 12),
        ("fp32", 4, 4, 8),
        ("bf16", 2, 2, 4),
        ("mixed-sgd", 2, 2, 4),
    ],
)
def test_bytes_per_parameter(name: str, weights: int, gradients: int, optimizer: int) -> None:
    found = precision(name)
    assert found.weights.bytes(1) == weights
    assert found.gradients.bytes(1) == gradients
    assert found.optimizer_bits == 8 * optimizer
    assert found.state_bits == 8 * (weights + gradients + optimizer)


def test_eight_bit_states_cost_a_quarter_and_their_scales() -> None:
    states = sum((s.bytes(2048) for s in precision("mixed-adam8").states), Fraction(0))
    assert states == 2 * (2048 + 4)


def test_a_format_of_the_users_own() -> None:
    assert named("3:64").bits_per_element == 3 + Fraction(16, 64)
    assert named("5").bits_per_element == 5


def test_unknown_formats_are_named() -> None:
    with pytest.raises(UnknownNameError, match="nf4"):
        named("nf5")
    with pytest.raises(UnknownNameError, match="mixed"):
        precision("mixd")
    with pytest.raises(InputError, match="0 bits"):
        Format("none", 0)
