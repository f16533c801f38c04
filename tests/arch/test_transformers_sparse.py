"""Sparse and state-space entries against transformers' modules with the same weights.

In float32, as they are used: what is left is rounding.
"""

from __future__ import annotations

import pytest
import torch

from benchmarks.sparse_pairs import (
    Made,
    bigbird_pair,
    delta_pair,
    hybrid_pair,
    longformer_pair,
    mamba2_pair,
    mamba_pair,
)


@pytest.mark.parametrize("first", [1, 5])
def test_longformer(first: int) -> None:
    made = longformer_pair(b=2, n=40, d=24, h=3, w=4, first=first)
    torch.testing.assert_close(*_both(made), rtol=0, atol=1e-6)


def test_bigbird() -> None:
    """Their first and last block are global: with the sequence one block on, ours' first two."""
    made = bigbird_pair(b=2, n=60, d=24, h=3, c=4, r=2)
    torch.testing.assert_close(*_both(made), rtol=0, atol=1e-6)


def test_mamba() -> None:
    made = mamba_pair(b=2, n=45, d=24, s=5, r=3)
    torch.testing.assert_close(*_both(made), rtol=0, atol=1e-6)


def test_mamba2() -> None:
    made = mamba2_pair(b=2, n=45, d=24, h=4, s=10, c=16, theirs_c=8)
    torch.testing.assert_close(*_both(made), rtol=0, atol=1e-6)


def test_gated_deltanet() -> None:
    ours, theirs, _inputs = made = delta_pair(b=2, n=150, d=24, h=3, k=8, c=16)
    torch.testing.assert_close(*_both(made), rtol=0, atol=1e-6)
    assert isinstance(theirs, torch.nn.Module)
    counts = [sum(p.numel() for p in module.parameters()) for module in (ours, theirs)]
    assert counts[0] == counts[1]


def test_jambas_layers() -> None:
    torch.testing.assert_close(*_both(hybrid_pair(b=2, n=45, d=24, h=4)), rtol=0, atol=2e-6)


def _both(made: Made) -> tuple[torch.Tensor, torch.Tensor]:
    ours, theirs, inputs = made
    return ours(*inputs), theirs(*inputs)
