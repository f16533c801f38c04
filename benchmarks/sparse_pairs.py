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

from costlab.arch import (
    bigbird,
    gated_deltanet,
    gqa_attention,
    hybrid_block,
    linformer,
    longformer,
    lsh_attention,
    mamba,
    mamba2,
    performer,
)

Made = tuple[nn.Module, Callable[..., Tensor], tuple[Tensor, ...]]
_SEED = 7


def _copy(theirs: nn.Module, names: Mapping[str, nn.Module]) -> None:
    for name, ours in names.items():
        theirs.get_submodule(name).load_state_dict(ours.state_dict())


def _copy_mamba(theirs: nn.Module, ours: mamba.Mamba) -> None:
    core = ours.core
    _copy(
        theirs,
        {"conv1d": core.conv, "x_proj": core.select, "dt_proj": core.dt, "out_proj": ours.o},
    )
    with torch.no_grad():
        for name, value in (
            ("in_proj.weight", torch.cat((ours.inner.weight, ours.gate.weight))),
            ("A_log", core.log_rate),
            ("D", core.skip),
        ):
            theirs.get_parameter(name).copy_(value)


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
    _copy_mamba(theirs, ours)
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


def delta_pair(
    b: int = 1, n: int = 2048, d: int = 512, h: int = 4, k: int = 128, c: int = 64
) -> Made:
    """Chunks of ``c`` in ours; theirs have 64. Theirs keeps what belongs to a head together."""
    from transformers import Qwen3NextConfig
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextGatedDeltaNet

    config = Qwen3NextConfig(
        hidden_size=d, linear_num_value_heads=h, linear_num_key_heads=h, linear_key_head_dim=k,
        linear_value_head_dim=k, num_hidden_layers=1, layer_types=["linear_attention"],
    )  # fmt: skip
    theirs = Qwen3NextGatedDeltaNet(config, 0)
    ours = gated_deltanet.GatedDeltaNet(gated_deltanet.Config(d, h, k, c))
    _copy(theirs, {"out_proj": ours.o})
    inner = torch.cat((ours.inner.weight, ours.gate.weight))
    steps = torch.stack((ours.strength.weight, ours.fall.weight), dim=1)
    with torch.no_grad():
        heads = torch.unflatten(inner, 0, (4, h, k)).transpose(0, 1).flatten(0, 2)
        theirs.in_proj_qkvz.weight.copy_(heads)
        theirs.in_proj_ba.weight.copy_(steps.flatten(0, 1))
        theirs.conv1d.weight.copy_(ours.conv.weight)
        theirs.A_log.copy_(ours.log_rate)
        theirs.dt_bias.copy_(ours.fall_bias)
    return ours, theirs, (torch.randn(b, n, d),)


def hybrid_pair(b: int = 1, n: int = 512, d: int = 256, h: int = 4, g: int = 2) -> Made:
    """Jamba's two layers, dense; theirs without the norms of what Mamba selects."""
    from transformers import JambaConfig
    from transformers.models.jamba.modeling_jamba import (
        JambaAttentionDecoderLayer,
        JambaMambaDecoderLayer,
    )

    sizes = hybrid_block.Config(d=d, h=h, g=g, k=d // h, f=2 * d, s=16, r=16, c=16)
    config = JambaConfig(
        hidden_size=d, num_attention_heads=h, num_key_value_heads=g, intermediate_size=2 * d,
        mamba_d_state=16, mamba_dt_rank=16, num_hidden_layers=2, num_experts=1,
        attn_layer_period=2, attn_layer_offset=1,
    )  # fmt: skip
    config._attn_implementation = "sdpa"
    ours = hybrid_block.HybridBlock(sizes)
    first, second = JambaMambaDecoderLayer(config, 0), JambaAttentionDecoderLayer(config, 1)
    for theirs, own in ((first, ours.recurrent), (second, ours.attending)):
        feed = own.feed_forward
        _copy(theirs.feed_forward, {f"{p}_proj": getattr(feed, p) for p in ("gate", "up", "down")})
        with torch.no_grad():
            theirs.input_layernorm.weight.copy_(own.norm_mixer.norm.weight)
            theirs.pre_ff_layernorm.weight.copy_(own.norm_feed_forward.norm.weight)
    scan, attention = ours.recurrent.mixer, ours.attending.mixer
    assert isinstance(scan, mamba.Mamba)
    assert isinstance(attention, gqa_attention.GQAAttention)
    _copy_mamba(first.mamba, scan)
    for part in ("dt_layernorm", "b_layernorm", "c_layernorm"):
        setattr(first.mamba, part, nn.Identity())
    _copy(second.self_attn, {f"{p}_proj": getattr(attention, p) for p in "qkvo"})
    return ours, lambda x: second(first(x)), (torch.randn(b, n, d),)


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
