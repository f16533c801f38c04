"""Sparse, low-rank, kernel and state-space modules beside public ones, for ``catalogue_speed``.

Each function returns ours, theirs as a callable, and the inputs. What theirs leaves out (the
output projection of transformers' attention) is left out of ours. The default sizes are timed; the
tests compare what comes out at small ones. linformer and performer-pytorch
are no dependencies: without them their pairs are named and passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from costlab.arch import bigbird, linformer, longformer, lsh_attention, mamba, mamba2, performer

Made = tuple[nn.Module, Callable[..., Tensor], tuple[Tensor, ...]]
_SEED = 7


def _copy(theirs: nn.Module, names: Mapping[str, nn.Module]) -> None:
    for name, ours in names.items():
        theirs.get_submodule(name).load_state_dict(ours.state_dict())


def _without_output(module: nn.Module) -> nn.Module:
    module.o = nn.Identity()
    return module


def longformer_pair(
    b: int = 1, n: int = 2048, d: int = 512, h: int = 8, w: int = 128, first: int = 1
) -> Made:
    """A one-sided window of ``w``, and ``first`` global tokens."""
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    ours = longformer.Longformer(longformer.Config(d, h, w, first, bias=True))
    config = LongformerConfig(
        hidden_size=d, num_attention_heads=h, attention_window=[2 * w], num_hidden_layers=1,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    theirs = LongformerSelfAttention(config, 0)
    _copy(
        theirs,
        {
            "query": ours.q, "key": ours.k, "value": ours.v,
            "query_global": ours.gq, "key_global": ours.gk, "value_global": ours.gv,
        },
    )  # fmt: skip
    mask = torch.zeros(b, n)
    mask[:, :first] = 10_000

    def call(x: Tensor) -> Tensor:
        y: Tensor = theirs(
            x,
            attention_mask=mask,
            is_index_masked=mask < 0,
            is_index_global_attn=mask > 0,
            is_global_attn=True,
        )[0]
        return y

    return _without_output(ours), call, (torch.randn(b, n, d),)


def bigbird_pair(
    b: int = 1, n: int = 2048, d: int = 512, h: int = 8, c: int = 64, r: int = 3
) -> Made:
    """Blocks of ``c``, ``r`` random ones; theirs draws its blocks anew at each call.

    The order of the keys is theirs': first and last block global, ours' first two.
    """
    from transformers import BigBirdConfig
    from transformers.models.big_bird.modeling_big_bird import (
        BigBirdBlockSparseAttention,
        BigBirdModel,
    )

    ours = bigbird.BigBird(bigbird.Config(n, d, h, c, r=r, G=2 * c, bias=True))
    config = BigBirdConfig(
        hidden_size=d, num_attention_heads=h, block_size=c, num_random_blocks=r,
        num_hidden_layers=1,
    )  # fmt: skip
    theirs = BigBirdBlockSparseAttention(config, _SEED).train()
    _copy(theirs, {"query": ours.q, "key": ours.k, "value": ours.v})
    lengths, counts = theirs._get_rand_attn_plan(n, c, r)
    np.random.seed(_SEED)  # as their forward does
    drawn = theirs._bigbird_block_rand_mask_with_head(n, n, c, c, h, lengths, counts)
    chosen = torch.zeros(h, n // c, r, dtype=torch.int64)
    chosen[:, 2:] = (torch.tensor(np.stack(drawn)) + 1) % (n // c)
    ours.core.place(chosen, torch.ones_like(chosen, dtype=torch.bool))
    masks = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(b, n), c)
    blocked, band, row, column = masks

    def call(x: Tensor) -> Tensor:
        y: Tensor = theirs(x.roll(-c, 1), band, row, column, blocked, blocked)[0]
        return y.roll(c, 1)

    return _without_output(ours), call, (torch.randn(b, n, d),)


def reformer_pair() -> Made:
    """Chunks of 64, two rounds, n = 4096; theirs also attends across buckets within a chunk."""
    from transformers import ReformerConfig
    from transformers.models.reformer.modeling_reformer import LSHSelfAttention

    n, c = 4096, 64
    bits = lsh_attention.hash_bits(n, c)
    ours = lsh_attention.LSHAttention(lsh_attention.Config(256, 4, c, 2, bits))
    config = ReformerConfig(
        hidden_size=256, num_attention_heads=4, attention_head_size=64, lsh_attn_chunk_length=c,
        num_hashes=2, num_buckets=[2] * bits, lsh_attention_probs_dropout_prob=0.0,
        is_decoder=False,
    )  # fmt: skip
    theirs = LSHSelfAttention(config)
    _copy(theirs, {"query_key": ours.qk, "value": ours.v})
    return _without_output(ours), lambda x: theirs(x)[0], (torch.randn(1, n, 256),)


def mamba_pair(b: int = 1, n: int = 512, d: int = 256, s: int = 16, r: int = 16) -> Made:
    """``s`` states; the step's rank is ``r``."""
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    config = MambaConfig(hidden_size=d, state_size=s, time_step_rank=r, num_hidden_layers=1)
    theirs = MambaMixer(config, 0)
    ours = mamba.Mamba(mamba.Config(d, s, r, 16))
    core = ours.core
    _copy(
        theirs,
        {"conv1d": core.conv, "x_proj": core.select, "dt_proj": core.dt, "out_proj": ours.o},
    )
    with torch.no_grad():
        theirs.in_proj.weight.copy_(torch.cat((ours.inner.weight, ours.gate.weight)))
        theirs.A_log.copy_(core.log_rate)
        theirs.D.copy_(core.skip)
    return ours, theirs, (torch.randn(b, n, d),)


def mamba2_pair(
    b: int = 1,
    n: int = 2048,
    d: int = 256,
    h: int = 8,
    s: int = 64,
    c: int = 64,
    theirs_c: int = 64,
) -> Made:
    """``s`` states; chunks of ``c`` in ours."""
    from transformers import Mamba2Config
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    config = Mamba2Config(
        hidden_size=d, num_heads=h, head_dim=2 * d // h, state_size=s, n_groups=1,
        chunk_size=theirs_c, num_hidden_layers=1,
    )  # fmt: skip
    theirs = Mamba2Mixer(config, 0)
    ours = mamba2.Mamba2(mamba2.Config(d, h, s, c))
    _copy(theirs, {"conv1d": ours.core.conv, "norm": ours.norm, "out_proj": ours.o})
    with torch.no_grad():
        parts = (ours.gate.weight, ours.inner.weight, ours.dt.weight)
        theirs.in_proj.weight.copy_(torch.cat(parts))
        theirs.A_log.copy_(ours.core.log_rate)
        theirs.D.copy_(ours.core.skip)
        theirs.dt_bias.copy_(ours.step_bias)
    return ours, theirs, (torch.randn(b, n, d),)


def linformer_pair() -> Made:
    """128 rows, n = 2048."""
    from linformer.linformer import LinformerSelfAttention

    ours = linformer.Linformer(linformer.Config(2048, 512, 8, 128))
    theirs = LinformerSelfAttention(512, 2048, k=128, heads=8)
    _copy(theirs, {"to_q": ours.q, "to_k": ours.k, "to_v": ours.v})
    with torch.no_grad():
        theirs.proj_k.copy_(ours.core.keys)
        theirs.proj_v.copy_(ours.core.values)
        theirs.to_out.weight.copy_(ours.o.weight)
        theirs.to_out.bias.zero_()
    return ours, theirs, (torch.randn(1, 2048, 512),)


def performer_pair() -> Made:
    """256 features, both directions, n = 2048; theirs adds 1e-4 to each feature."""
    from performer_pytorch import SelfAttention

    ours = performer.Performer(performer.Config(512, 8, 256, 64))
    theirs = SelfAttention(512, heads=8, dim_head=64, nb_features=256, attn_out_bias=False)
    _copy(theirs, {"to_q": ours.q, "to_k": ours.k, "to_v": ours.v, "to_out": ours.o})
    theirs.fast_attention.projection_matrix.copy_(ours.core.directions)
    return ours, theirs, (torch.randn(1, 2048, 512),)
