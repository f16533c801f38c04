"""Other values for inputs, and what counts as constant."""

from __future__ import annotations

import torch

from costlab.measurement.inputs import Variation, are_constant


def test_every_variation_is_another_one_in_the_same_memory() -> None:
    x = torch.randn(7, 3)
    first, address = x.clone(), x.data_ptr()
    variation = Variation([x])
    seen = [first]

    for number in range(9):
        variation.apply(number)
        assert not any(torch.equal(x, earlier) for earlier in seen)
        seen.append(x.clone())
    variation.restore()

    assert x.data_ptr() == address
    assert torch.equal(x, first)


def test_scaling_keeps_masks_and_signs() -> None:
    x = torch.tensor([0.0, -float("inf"), -2.0])
    Variation([x]).apply(0)

    assert x.tolist() == [0.0, -float("inf"), -1.5]


def test_tokens_are_rotated_only_where_nothing_floats() -> None:
    tokens, x = torch.tensor([5, 6, 7]), torch.randn(3)

    Variation([tokens, x]).apply(0)
    assert tokens.tolist() == [5, 6, 7]
    Variation([tokens]).apply(0)
    assert tokens.tolist() == [7, 5, 6]


def test_what_cannot_be_varied_is_left_alone() -> None:
    shared, mask = torch.randn(1).expand(4), torch.tensor([True, False])

    assert not Variation([shared, mask]).possible


def test_constant_is_what_the_largest_input_is() -> None:
    assert are_constant([torch.ones(9), torch.randn(3)])
    assert not are_constant([torch.zeros(2), torch.randn(3)])
    assert not are_constant([torch.arange(4)])
