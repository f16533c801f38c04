"""Sparse and state-space entries against transformers' modules with the same weights.

In float32, as they are used: what is left is rounding. Each line says how much was seen.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from costlab.arch import bigbird, longformer, mamba, mamba2


def _copy(theirs: nn.Module, names: Mapping[str, nn.Module]) -> None:
    """Give their submodules ``names`` our weights and biases."""
    with torch.no_grad():
        for name, ours in names.items():
            target = theirs.get_submodule(name)
            target.load_state_dict(ours.state_dict())


@pytest.mark.parametrize("first", [1, 5])
def test_longformer(first: int) -> None:
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    config = LongformerConfig(
        hidden_size=24, num_attention_heads=3, attention_window=[8], num_hidden_layers=1,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    theirs = LongformerSelfAttention(config, 0)
    ours = longformer.Longformer(longformer.Config(24, 3, 4, first, bias=True))
    _copy(
        theirs,
        {
            "query": ours.q, "key": ours.k, "value": ours.v,
            "query_global": ours.gq, "key_global": ours.gk, "value_global": ours.gv,
        },
    )  # fmt: skip
    ours.o = nn.Identity()  # type: ignore[assignment]
    x = torch.randn(2, 40, 24)
    mask = torch.zeros(2, 40)
    mask[:, :first] = 10_000
    there = theirs(
        x,
        attention_mask=mask,
        is_index_masked=mask < 0,
        is_index_global_attn=mask > 0,
        is_global_attn=True,
    )[0]
    _agree(ours(x), there, 1e-6)


def test_bigbird() -> None:
    """Their first and last block are global: with the sequence one block on, ours' first two."""
    from transformers import BigBirdConfig
    from transformers.models.big_bird.modeling_big_bird import (
        BigBirdBlockSparseAttention,
        BigBirdModel,
    )

    n, c, seed = 60, 4, 7
    config = BigBirdConfig(
        hidden_size=24, num_attention_heads=3, block_size=c, num_random_blocks=2,
        num_hidden_layers=1,
    )  # fmt: skip
    theirs = BigBirdBlockSparseAttention(config, seed).train()
    ours = bigbird.BigBird(bigbird.Config(n, 24, 3, c, r=2, G=2 * c, bias=True))
    _copy(theirs, {"query": ours.q, "key": ours.k, "value": ours.v})
    ours.o = nn.Identity()  # type: ignore[assignment]
    lengths, counts = theirs._get_rand_attn_plan(n, c, 2)
    np.random.seed(seed)  # as their forward does
    drawn = theirs._bigbird_block_rand_mask_with_head(n, n, c, c, 3, lengths, counts)
    chosen = torch.zeros(3, n // c, 2, dtype=torch.int64)
    chosen[:, 2:] = (torch.tensor(np.stack(drawn)) + 1) % (n // c)
    ours.core.place(chosen, torch.ones_like(chosen, dtype=torch.bool))
    x = torch.randn(2, n, 24)
    masks = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(2, n), c)
    blocked, band, row, column = masks
    there = theirs(x, band, row, column, blocked, blocked)[0]
    _agree(ours(x.roll(c, 1)).roll(-c, 1), there, 1e-6)


def test_mamba() -> None:
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    config = MambaConfig(hidden_size=24, state_size=5, time_step_rank=3, num_hidden_layers=1)
    theirs = MambaMixer(config, 0)
    ours = mamba.Mamba(mamba.Config(24, 5, 3, 16))
    core = ours.core
    _copy(
        theirs,
        {"conv1d": core.conv, "x_proj": core.select, "dt_proj": core.dt, "out_proj": ours.o},
    )
    with torch.no_grad():
        theirs.in_proj.weight.copy_(torch.cat((ours.inner.weight, ours.gate.weight)))
        theirs.A_log.copy_(core.log_rate)
        theirs.D.copy_(core.skip)
    x = torch.randn(2, 45, 24)
    _agree(ours(x), theirs(x), 1e-6)


def test_mamba2() -> None:
    from transformers import Mamba2Config
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    config = Mamba2Config(
        hidden_size=24, num_heads=4, head_dim=12, state_size=10, n_groups=1, chunk_size=8,
        num_hidden_layers=1,
    )  # fmt: skip
    theirs = Mamba2Mixer(config, 0)
    ours = mamba2.Mamba2(mamba2.Config(24, 4, 10, 16))
    _copy(theirs, {"conv1d": ours.core.conv, "norm": ours.norm, "out_proj": ours.o})
    with torch.no_grad():
        parts = (ours.gate.weight, ours.inner.weight, ours.dt.weight)
        theirs.in_proj.weight.copy_(torch.cat(parts))
        theirs.A_log.copy_(ours.core.log_rate)
        theirs.D.copy_(ours.core.skip)
        theirs.dt_bias.copy_(ours.step_bias)
    x = torch.randn(2, 45, 24)
    _agree(ours(x), theirs(x), 1e-6)


def _agree(ours: Tensor, theirs: Tensor, within: float) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=within)
