"""Signatures of outputs."""

from __future__ import annotations

import torch

from costlab.measurement.signature import agree, signature_of


def test_equal_outputs_agree_and_others_do_not() -> None:
    x = torch.randn(100)

    assert agree(signature_of([x]), signature_of([x.clone()]), 0.0)
    assert not agree(signature_of([x]), signature_of([x.flip(0)]), 1e-3)
    assert not agree(signature_of([x]), signature_of([x, x]), 1.0)
    assert not agree(signature_of([x]), signature_of([x[:50]]), 1.0)


def test_another_order_of_summation_is_within_the_tolerance() -> None:
    x = torch.randn(300, 300)

    assert agree(signature_of([x @ x]), signature_of([(x.double() @ x.double()).float()]), 1e-3)


def test_nan_agrees_with_nothing() -> None:
    x = torch.tensor([1.0, float("nan")])

    assert not agree(signature_of([x]), signature_of([x]), 1.0)


def test_large_outputs_are_sampled_and_whole_numbers_left_out() -> None:
    (row,) = signature_of([torch.arange(9), torch.ones(1 << 18)])

    assert row[0] == 1 << 18
    assert row[1] == 256.0  # the root of 65536 sampled ones


def test_the_random_state_stays_as_it_was() -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)

    signature_of([torch.randn(2)])

    torch.manual_seed(3)
    assert torch.equal(torch.rand(1), expected)
