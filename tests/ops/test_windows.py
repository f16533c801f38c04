"""Cutting sequences into blocks and spans."""

from __future__ import annotations

import pytest
import torch

from costlab.ops.heads import merge_heads, split_heads
from costlab.ops.windows import block_count, block_spans, blocks

SIZES = [(7, 3), (9, 3), (2, 5), (1, 1), (11, 4)]


@pytest.mark.parametrize(("n", "size"), SIZES)
def test_blocks_hold_the_sequence_and_zeros(n: int, size: int) -> None:
    x = torch.randn(2, 3, n, 4)
    cut = blocks(x, size)
    count = -(-n // size)
    assert block_count(n, size) == count
    assert cut.shape == (2, 3, count, size, 4)
    joined = cut.flatten(2, 3)
    assert torch.equal(joined[:, :, :n], x)
    assert not joined[:, :, n:].any()


@pytest.mark.parametrize(("n", "size"), SIZES)
@pytest.mark.parametrize(("before", "after"), [(1, 0), (1, 1), (0, 2)])
def test_spans_are_blocks_with_their_neighbours(n: int, size: int, before: int, after: int) -> None:
    x = torch.randn(2, n, 4)
    spans = block_spans(x, size, before, after)
    assert spans.shape == (2, -(-n // size), (before + 1 + after) * size, 4)
    for block in range(spans.shape[1]):
        for place in range(spans.shape[2]):
            position = (block - before) * size + place
            expected = x[:, position] if 0 <= position < n else torch.zeros(2, 4)
            assert torch.equal(spans[:, block, place], expected)


def test_spans_are_views_of_one_padded_copy() -> None:
    x = torch.randn(2, 12, 4)
    spans = block_spans(x, 3, 1, 1)
    assert spans.untyped_storage().nbytes() == 4 * 2 * (12 + 2 * 3) * 4


def test_heads_split_without_a_copy_and_merge_back() -> None:
    x = torch.randn(2, 5, 12)
    parts = split_heads(x, 3)
    assert parts.shape == (2, 3, 5, 4)
    assert parts.data_ptr() == x.data_ptr()
    assert torch.equal(parts[:, 1], x[:, :, 4:8])
    assert torch.equal(merge_heads(parts), x)
