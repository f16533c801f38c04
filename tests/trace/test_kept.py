"""What an attention mask lets useful queries see, pair by pair."""

from __future__ import annotations

import pytest
import torch

from costlab.trace.kept import seen_entries

B, H, N, M = 2, 3, 7, 5


def lower(n: int, m: int) -> torch.Tensor:
    return torch.ones(n, m, dtype=torch.bool).tril()


@pytest.mark.parametrize("padding", [0, 1, 3])
def test_padded_queries_at_the_end_see_nothing(padding: int) -> None:
    query = torch.randn(B, H, N, 4)
    query[:, :, N - padding :] = 0
    pairs = sum(j <= i for i in range(N - padding) for j in range(M))

    assert seen_entries(lower(N, M), query, M) == B * H * pairs


def test_an_additive_mask_hides_what_is_far_below() -> None:
    mask = torch.zeros(N, M).masked_fill(~lower(N, M), -torch.inf)

    assert seen_entries(mask, torch.randn(B, H, N, 4), M) == B * H * int(lower(N, M).sum())


@pytest.mark.parametrize("zeros", [slice(None), slice(0, 2), slice(2, 4)])
def test_zeros_elsewhere_are_queries_like_others(zeros: slice) -> None:
    query = torch.randn(B, H, N, 4)
    query[:, :, zeros] = 0

    assert seen_entries(lower(N, M), query, M) == B * H * int(lower(N, M).sum())
