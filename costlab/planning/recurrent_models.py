"""Readers of models with a state: Mamba, Jamba, RWKV, stacks of LSTMs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from costlab.errors import InputError
from costlab.i18n import _
from costlab.planning import blocks
from costlab.planning.decoders import activation
from costlab.planning.fields import Fields
from costlab.planning.model import Layer, ModelConfig, Part, part


def mamba(f: Fields, name: str) -> ModelConfig:
    """Gu and Dao 2023."""
    d = f.size("hidden_size", "d_model")
    inner = f.size("intermediate_size", default=0) or f.size("expand", default=2) * d
    rank = _rank(f, "time_step_rank", d)
    f.flag("use_conv_bias", default=True)
    mixer = blocks.mamba(
        d, inner, f.size("state_size", default=16), f.size("conv_kernel", default=4), rank,
        bias=f.flag("use_bias", default=False),
    )  # fmt: skip
    return _stack(f, name, "mamba", d, mixer, f.size("num_hidden_layers", "n_layer"))


def mamba2(f: Fields, name: str) -> ModelConfig:
    """Dao and Gu 2024."""
    d = f.size("hidden_size", "d_model")
    inner = f.size("expand", default=2) * d
    heads, size = f.size("num_heads"), f.size("head_dim", default=64)
    if heads * size != inner:
        raise InputError(
            _("num_heads times head_dim is not the inner width"),
            given=f"num_heads={heads}, head_dim={size}, expand*hidden_size={inner}",
            allowed=f"num_heads={inner // size}",
        )
    _rank(f, "time_step_rank", d)
    for unread in ("use_conv_bias", "use_bias", "rms_norm"):
        f.flag(unread, default=True)
    f.size("chunk_size", default=256)
    mixer = blocks.mamba2(
        d, inner, f.size("state_size", default=128), f.size("conv_kernel", default=4), heads,
        f.size("n_groups", default=8),
    )  # fmt: skip
    return _stack(f, name, "mamba2", d, mixer, f.size("num_hidden_layers", "n_layer"))


def _rank(f: Fields, key: str, d: int) -> int:
    word = f.text(key, default="auto")
    return -(-d // 16) if word == "auto" else int(word)


def _stack(
    f: Fields, name: str, family: str, d: int, mixer: tuple[Part, ...], depth: int
) -> ModelConfig:
    vocabulary, tied = f.size("vocab_size"), f.flag("tie_word_embeddings", default=True)
    parts = (blocks.norm("rms_norm", "norm", d), *mixer, part("residual", d=d))
    f.flag("residual_in_fp32", default=True)
    return ModelConfig(
        name=name, family=family, width=d, layers=(Layer(family, parts, depth),),
        before=(blocks.embedding("embedding", vocabulary, d),),
        after=(blocks.norm("rms_norm", "final_norm", d), blocks.head(vocabulary, d, tied=tied)),
        vocabulary=vocabulary, tied=tied, kv_kind="recurrent", positions="none",
    )  # fmt: skip


def jamba(f: Fields, name: str) -> ModelConfig:
    """Lieber et al. 2024: one attention layer in eight, experts in every other layer."""
    d, h = f.size("hidden_size"), f.size("num_attention_heads")
    g, width = f.size("num_key_value_heads", default=h), f.size("intermediate_size")
    act = activation(f, "hidden_act", gated=True, default="silu")
    attends = (f.size("attn_layer_period", default=8), f.size("attn_layer_offset", default=4))
    routes = (f.size("expert_layer_period", default=2), f.size("expert_layer_offset", default=1))
    e, t = f.size("num_experts", default=16), f.size("num_experts_per_tok", default=2)
    inner = f.size("mamba_expand", default=2) * d
    state = blocks.mamba(
        d, inner, f.size("mamba_d_state", default=16), f.size("mamba_d_conv", default=4),
        _rank(f, "mamba_dt_rank", d), inner_norm="rms_norm",
        bias=f.flag("mamba_proj_bias", default=False),
    )  # fmt: skip
    f.flag("mamba_conv_bias", default=True)
    f.size("num_logits_to_keep", "sliding_window", default=0)
    norms = tuple(blocks.norm("rms_norm", f"norm_{i + 1}", d) for i in range(2))
    sums = tuple(part("residual", f"residual_{i + 1}", d=d) for i in range(2))
    found: dict[tuple[Part, ...], tuple[str, int]] = {}
    for index in range(f.size("num_hidden_layers")):
        attention = index % attends[0] == attends[1]
        routed = index % routes[0] == routes[1] and e > 1
        mixing = blocks.attention(d, h, g, d // h) if attention else state
        inside = (
            blocks.experts(d, width, e, t, act) if routed else blocks.feed_forward(d, width, act)
        )
        parts = (*norms, *mixing, *inside, *sums)
        label = ("attention" if attention else "mamba") + (", experts" if routed else ", dense")
        found[parts] = (label, found.get(parts, ("", 0))[1] + 1)
    vocabulary, tied = f.size("vocab_size"), f.flag("tie_word_embeddings", default=False)
    return ModelConfig(
        name=name, family="jamba", width=d, heads=h, kv_heads=g, head_size=d // h, inner=width,
        layers=tuple(Layer(label, parts, count) for parts, (label, count) in found.items()),
        before=(blocks.embedding("embedding", vocabulary, d),),
        after=(blocks.norm("rms_norm", "final_norm", d), blocks.head(vocabulary, d, tied=tied)),
        vocabulary=vocabulary, tied=tied, experts=e, experts_per_token=t, kv_kind="hybrid",
        positions="none", context=f.size("max_position_embeddings", default=262144),
    )  # fmt: skip


def rwkv(f: Fields, name: str) -> ModelConfig:
    """Peng et al. 2023, version 4."""
    d = f.size("hidden_size")
    width = f.size("attention_hidden_size", default=d)
    if width != d:
        raise InputError(
            _("only an attention as wide as the model is known"),
            given=f"attention_hidden_size={width}",
            allowed=f"{d}",
        )
    f.size("rescale_every", default=6)
    vocabulary, tied = f.size("vocab_size"), f.flag("tie_word_embeddings", default=False)
    norms = tuple(blocks.norm("layer_norm", f"norm_{i + 1}", d) for i in range(2))
    inner = f.size("intermediate_size", default=4 * d)
    sums = tuple(part("residual", f"residual_{i + 1}", d=d) for i in range(2))
    parts = (*norms, *blocks.rwkv4(d, inner), *sums)
    return ModelConfig(
        name=name, family="rwkv", width=d, inner=inner,
        layers=(Layer("rwkv", parts, f.size("num_hidden_layers")),),
        before=(blocks.embedding("embedding", vocabulary, d),
                blocks.norm("layer_norm", "embedding_norm", d)),
        after=(blocks.norm("layer_norm", "final_norm", d), blocks.head(vocabulary, d, tied=tied)),
        vocabulary=vocabulary, tied=tied, kv_kind="recurrent", positions="none",
        context=f.size("context_length", default=0),
    )  # fmt: skip


def lstm(f: Fields, name: str) -> ModelConfig:
    """A stack of LSTMs over an embedding; no Hugging Face model, but the same kind of file."""
    d, vocabulary = f.size("hidden_size"), f.size("vocab_size")
    tied = f.flag("tie_word_embeddings", default=True)
    depth = f.size("num_hidden_layers", "num_layers")
    return ModelConfig(
        name=name, family="lstm", width=d, layers=(Layer("lstm", blocks.lstm(d), depth),),
        before=(blocks.embedding("embedding", vocabulary, d),),
        after=(blocks.head(vocabulary, d, tied=tied),),
        vocabulary=vocabulary, tied=tied, kv_kind="recurrent", positions="none",
    )  # fmt: skip


READERS: Mapping[str, Callable[[Fields, str], ModelConfig]] = {
    "mamba": mamba, "mamba2": mamba2, "jamba": jamba, "rwkv": rwkv, "lstm": lstm,
}  # fmt: skip
