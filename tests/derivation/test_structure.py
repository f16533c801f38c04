"""Dependence measured on the real modules, against masks and chains known otherwise."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from costlab.derivation.structure import (
    chain_of,
    gradient_by_distance,
    mask_of,
    measure,
    sizes_at,
    with_radius,
)
from costlab.formulas import structure


@pytest.mark.parametrize("causal", [False, True])
def test_the_mask_of_a_window_is_the_band(causal: bool) -> None:
    sizes = sizes_at("sliding_window", 13) | {"w": 3}

    rows = mask_of("sliding_window", sizes, {"causal": causal})

    for i, row in enumerate(rows):
        for j, seen in enumerate(row):
            assert seen == (i - 3 < j <= i if causal else abs(i - j) <= 3)


@pytest.mark.parametrize(
    ("name", "per_step"), [("rnn", 3), ("rnn_cell_loop", 3), ("lstm", 2), ("lstm_1997", 1)]
)
def test_a_chain_grows_by_the_operators_of_a_step(name: str, per_step: int) -> None:
    """A product, a sum and tanh; along an LSTM's cell a product and a sum, in 1997 a sum alone."""
    short, long = (chain_of(name, sizes_at(name, n), {}) or 0 for n in (5, 9))

    assert long - short == 4 * per_step


def test_a_written_gradient_hides_its_chain() -> None:
    """Mamba's scan is one operator to autograd, and passes over steps and chunks inside."""
    assert chain_of("mamba", sizes_at("mamba", 33), {}) is None
    assert structure.load("mamba")[0].path == ""


def test_a_linear_recurrence_decays_as_the_power_of_its_radius() -> None:
    """0.9**100 is 2.66e-5 and 0.99**100 is 0.366."""
    torch.manual_seed(0)
    for radius, share in ((0.9, 2.656e-5), (0.99, 0.366), (1.1, 13780.6)):
        module = with_radius(nn.RNN(5, 5, batch_first=True).double(), radius)
        curve = gradient_by_distance(module, 1e-9 * torch.randn(1, 101, 5, dtype=torch.float64))
        assert curve[100][1] == pytest.approx(share, rel=1e-3)


def test_every_name_has_committed_structure_and_some_are_what_is_measured_now(seed: int) -> None:
    for name in random.Random(seed).sample(structure.names(), 2):
        assert measure(name) == structure.load(name)
