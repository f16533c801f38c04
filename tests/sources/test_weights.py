"""Weights that are copied have the mean and the spread that were asked for."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from costlab.sources.weights import repeated_weights

LARGE = (1000, 777)


def test_large_tensors_have_the_spread_that_was_asked_for() -> None:
    methods = torch.Tensor.normal_, torch.Tensor.uniform_
    with repeated_weights():
        normal = nn.init.normal_(torch.full(LARGE, torch.nan), 3.0, 0.02)
        uniform = nn.init.uniform_(torch.full(LARGE, torch.nan), -4.0, 2.0)
        kaiming = nn.Linear(*LARGE).weight
        half = torch.empty(LARGE, dtype=torch.bfloat16).normal_()

    assert (torch.Tensor.normal_, torch.Tensor.uniform_) == methods
    assert normal.mean().item() == pytest.approx(3.0, abs=1e-3)
    assert normal.std().item() == pytest.approx(0.02, rel=0.05)
    assert -4 <= uniform.min().item() < -3.9 and 1.9 < uniform.max().item() <= 2
    assert kaiming.std().item() == pytest.approx((1 / 3 / LARGE[0]) ** 0.5, rel=0.05)
    assert kaiming.requires_grad and half.float().std().item() == pytest.approx(1, rel=0.05)


def test_what_is_small_strided_or_seeded_is_drawn_as_ever() -> None:
    for make in (
        lambda: torch.empty(10).normal_(),
        lambda: torch.empty(LARGE).t().uniform_(to=3.0),
        lambda: torch.empty(LARGE).normal_(generator=torch.Generator().manual_seed(1)),
    ):
        torch.manual_seed(0)
        expected = make()
        with repeated_weights():
            torch.manual_seed(0)
            found = make()
        assert torch.equal(found, expected)

    with repeated_weights():
        assert torch.empty(LARGE, device="meta").normal_().is_meta


def test_methods_come_back_after_an_error() -> None:
    before = torch.Tensor.normal_
    with pytest.raises(KeyError), repeated_weights():
        raise KeyError
    assert torch.Tensor.normal_ is before
