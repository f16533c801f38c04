"""Readers of configs whose layers attend and feed forward in one stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _
from costlab.planning import blocks
from costlab.planning.decoder import Stack, model
from costlab.planning.fields import Fields
from costlab.planning.model import ModelConfig

_GATES = {"silu": "gate", "swish": "gate", "gelu": "gate-gelu", "gelu_pytorch_tanh": "gate-gelu",
          "gelu_new": "gate-gelu", "gelu_fast": "gate-gelu", "geglu": "gate-gelu"}  # fmt: skip
_PLAIN = {"gelu": "gelu", "gelu_new": "gelu", "gelu_fast": "gelu", "gelu_pytorch_tanh": "gelu",
          "relu": "relu", "silu": "silu", "swish": "silu", "relu2": "squared_relu"}  # fmt: skip


def activation(fields: Fields, *names: str, gated: bool, default: str) -> str:
    """The part that an activation's name stands for.

    Raises:
        InputError: if the name is not known.
    """
    found = fields.text(*names, default=default)
    table = _GATES if gated else _PLAIN
    if found not in table:
        raise InputError(
            _("unknown activation"), given=f"{names[0]} = {found}", allowed=", ".join(table)
        )
    return table[found]


def _common(f: Fields) -> dict[str, Any]:
    d = f.size("hidden_size", "n_embd", "d_model", "dim")
    h = f.size("num_attention_heads", "n_head", "n_heads")
    given = f.size("head_dim", default=0)
    if not given and d % h:
        raise InputError(
            _("heads do not divide the width, and the config has no head_dim"),
            given=f"hidden_size={d}, num_attention_heads={h}",
        )
    return {
        "d": d,
        "h": h,
        "g": f.size("num_key_value_heads", "multi_query_group_num", default=h),
        "k": given or d // h,
        "depth": f.size("num_hidden_layers", "n_layer", "n_layers"),
        "V": f.size("vocab_size"),
    }


def gpt2(f: Fields, name: str) -> ModelConfig:
    """Radford et al. 2019; GPT-3's sizes are the same architecture (Brown et al. 2020)."""
    common = _common(f)
    stack = Stack(
        **common, f=f.size("n_inner", "intermediate_size", default=4 * common["d"]),
        activation=activation(f, "activation_function", gated=False, default="gelu_new"),
        norm="layer_norm", bias=True, tied=f.flag("tie_word_embeddings", default=True),
        positions=f.size("n_positions", "n_ctx", "max_position_embeddings", default=1024),
    )  # fmt: skip
    return model(name, "gpt2", stack)


def llama(f: Fields, name: str, **more: Any) -> ModelConfig:
    """Touvron et al. 2023, and what differs from it in biases, norms or windows."""
    settings: dict[str, Any] = {
        "tied": f.flag("tie_word_embeddings", default=False),
        "attention_bias": f.flag("attention_bias", default=False),
        "bias": f.flag("mlp_bias", default=False),
        "activation": activation(f, "hidden_act", "hidden_activation", gated=True, default="silu"),
        **more,
    }
    family = str(settings.pop("family", "llama"))
    stack = Stack(**_common(f), f=f.size("intermediate_size"), **settings)
    return model(name, family, stack, context=f.size("max_position_embeddings", default=0))


def mistral(f: Fields, name: str) -> ModelConfig:
    """Jiang et al. 2023: every layer sees a window, where the config has one."""
    return llama(f, name, windows=(f.size("sliding_window", default=0),), family="mistral")


def mixtral(f: Fields, name: str) -> ModelConfig:
    """Jiang et al. 2024: every feed-forward is one of e experts."""
    return llama(
        f, name, windows=(f.size("sliding_window", default=0),), family="mixtral",
        experts=f.size("num_local_experts"), experts_per_token=f.size("num_experts_per_tok"),
        expert_width=f.size("intermediate_size"),
    )  # fmt: skip


def qwen2(f: Fields, name: str) -> ModelConfig:
    """Yang et al. 2024: biases of q, k and v only."""
    window = f.size("sliding_window", default=0)
    seen = window if f.flag("use_sliding_window", default=False) else 0
    return llama(f, name, attention_bias=True, out_bias=False, family="qwen2", windows=(seen,))


def qwen3(f: Fields, name: str) -> ModelConfig:
    """Yang et al. 2025: a norm of each head of q and k."""
    f.size("sliding_window", default=0)
    f.flag("use_sliding_window", default=False)
    return llama(f, name, head_norm="rms_norm", family="qwen3")


def _experts(f: Fields, shared: bool) -> dict[str, Any]:
    width = f.size("moe_intermediate_size")
    return {
        "experts": f.size("num_experts", "n_routed_experts"),
        "experts_per_token": f.size("num_experts_per_tok"),
        "expert_width": width,
        "shared_width": f.size("shared_expert_intermediate_size", default=0)
        if shared
        else f.size("n_shared_experts", default=0) * width,
        "dense_layers": f.size("first_k_dense_replace", default=0),
    }


def qwen2_moe(f: Fields, name: str) -> ModelConfig:
    """Yang et al. 2024: routed experts and a gated shared one."""
    f.size("decoder_sparse_step", default=1)
    f.items("mlp_only_layers")
    common = {"attention_bias": True, "out_bias": False, **_experts(f, True)}
    d = f.size("hidden_size")
    gate = (blocks.whole_linear("shared_experts.gate", d, 1),)
    return llama(f, name, family="qwen2_moe", extra=gate, **common)


def qwen3_moe(f: Fields, name: str) -> ModelConfig:
    """Yang et al. 2025: routed experts alone."""
    f.size("decoder_sparse_step", default=1)
    f.items("mlp_only_layers")
    return llama(f, name, head_norm="rms_norm", family="qwen3_moe", **_experts(f, False))


def gemma(f: Fields, name: str) -> ModelConfig:
    """Gemma Team 2024: GELU gates, tied embedding."""
    return llama(f, name, family="gemma", tied=f.flag("tie_word_embeddings", default=True))


def _pattern(f: Fields, default: int) -> tuple[int, ...]:
    """Windows of the layers, from ``layer_types`` or from every how many one sees all."""
    window = f.size("sliding_window", default=4096)
    kinds = f.items("layer_types")
    if kinds:
        return tuple(window if kind == "sliding_attention" else 0 for kind in kinds)
    every = f.size("sliding_window_pattern", "_sliding_window_pattern", default=default)
    return (*(window,) * (every - 1), 0)


def gemma2(f: Fields, name: str) -> ModelConfig:
    """Gemma Team 2024b: every other layer has a window; a norm before and after each sublayer."""
    tied = f.flag("tie_word_embeddings", default=True)
    return llama(f, name, family="gemma2", tied=tied, norms=4, windows=_pattern(f, 2))


def gemma3(f: Fields, name: str) -> ModelConfig:
    """Gemma Team 2025: five of six layers have a window; norms of the heads of q and k."""
    tied = f.flag("tie_word_embeddings", default=True)
    return llama(
        f, name, family="gemma3", tied=tied, norms=4, head_norm="rms_norm", windows=_pattern(f, 6)
    )


def deepseek(f: Fields, name: str) -> ModelConfig:
    """DeepSeek-AI 2024: latent attention, shared and routed experts after dense layers."""
    latent = {
        "q_rank": f.size("q_lora_rank", default=0), "c": f.size("kv_lora_rank"),
        "nope": f.size("qk_nope_head_dim"), "r": f.size("qk_rope_head_dim"),
        "v": f.size("v_head_dim"),
    }  # fmt: skip
    f.size("num_nextn_predict_layers", default=0)
    return llama(
        f, name, family="deepseek", latent=tuple(sorted(latent.items())), **_experts(f, False)
    )


def falcon(f: Fields, name: str) -> ModelConfig:
    """Almazrouei et al. 2023: parallel sublayers, one or few key/value heads."""
    common = _common(f)
    new = f.flag("new_decoder_architecture", default=False)
    groups = f.size("num_kv_heads", default=common["h"])
    if not new:
        groups = 1 if f.flag("multi_query", default=True) else common["h"]
    bias = f.flag("bias", default=False)
    f.flag("alibi", default=False)
    parallel = f.flag("parallel_attn", default=True)
    stack = Stack(
        **{**common, "g": groups}, f=f.size("ffn_hidden_size", default=4 * common["d"]),
        activation="gelu", norm="layer_norm", norms=2 if new or not parallel else 1, bias=bias,
        tied=f.flag("tie_word_embeddings", default=True),
    )  # fmt: skip
    return model(name, "falcon", stack, context=f.size("max_position_embeddings", default=2048))


def gpt_neox(f: Fields, name: str) -> ModelConfig:
    """Black et al. 2022; Pythia's sizes are the same architecture."""
    f.flag("use_parallel_residual", default=True)
    stack = Stack(
        **_common(f), f=f.size("intermediate_size"), norm="layer_norm",
        activation=activation(f, "hidden_act", gated=False, default="gelu"),
        bias=f.flag("attention_bias", default=True), tied=f.flag("tie_word_embeddings",
        default=False),
    )  # fmt: skip
    return model(name, "gpt_neox", stack, context=f.size("max_position_embeddings", default=2048))


def gptj(f: Fields, name: str) -> ModelConfig:
    """Wang and Komatsuzaki 2021: one norm a layer, biases of feed-forward and head alone."""
    common = _common(f)
    f.size("rotary_dim", default=0)
    stack = Stack(
        **common, f=f.size("n_inner", default=4 * common["d"]), norm="layer_norm", norms=1,
        activation=activation(f, "activation_function", gated=False, default="gelu_new"),
        bias=True, attention_bias=False, head_bias=True,
    )  # fmt: skip
    return model(name, "gptj", stack, context=f.size("n_positions", default=2048))


def opt(f: Fields, name: str) -> ModelConfig:
    """Zhang et al. 2022: positions are learned, two rows more than there are positions."""
    common = _common(f)
    f.flag("do_layer_norm_before", default=True)
    f.size("word_embed_proj_dim", default=common["d"])
    context = f.size("max_position_embeddings", default=2048)
    stack = Stack(
        **common, f=f.size("ffn_dim", default=4 * common["d"]), norm="layer_norm", bias=True,
        activation=activation(f, "activation_function", gated=False, default="relu"),
        positions=context + 2, tied=f.flag("tie_word_embeddings", default=True),
    )  # fmt: skip
    return model(name, "opt", stack, context=context)


def bloom(f: Fields, name: str) -> ModelConfig:
    """Le Scao et al. 2022: ALiBi, a norm after the embedding."""
    common = _common(f)
    stack = Stack(
        **common, f=4 * common["d"], norm="layer_norm", bias=True, activation="gelu",
        embedding_norm=True, tied=f.flag("tie_word_embeddings", default=True),
    )  # fmt: skip
    f.size("seq_length", default=0)
    f.size("offset_alibi", default=0)
    f.flag("skip_bias_add", default=True)
    return model(name, "bloom", stack, positions="alibi")


def palm(f: Fields, name: str) -> ModelConfig:
    """Chowdhery et al. 2022: parallel sublayers under one norm, one key/value head, no biases."""
    stack = Stack(
        **_common(f), f=f.size("intermediate_size"), activation="gate", norm="layer_scale",
        norms=1, tied=True,
    )  # fmt: skip
    return model(name, "palm", stack, context=f.size("max_position_embeddings", default=2048))


def gopher(f: Fields, name: str) -> ModelConfig:
    """Rae et al. 2021 and Hoffmann et al. 2022: relative positions, a product of their own."""
    common = _common(f)
    relative = blocks.whole_linear("attention.relative", common["d"], common["h"] * common["k"])
    stack = Stack(
        **common, f=f.size("intermediate_size"), activation="gelu", norm="rms_norm", bias=False,
        tied=True, extra=(relative,),
    )  # fmt: skip
    return model(name, "gopher", stack, positions="relative",
                 context=f.size("max_position_embeddings", default=2048))  # fmt: skip


READERS: Mapping[str, Callable[[Fields, str], ModelConfig]] = {
    "gpt2": gpt2, "llama": llama, "mistral": mistral, "mixtral": mixtral, "qwen2": qwen2,
    "qwen2_moe": qwen2_moe, "qwen3": qwen3, "qwen3_moe": qwen3_moe, "gemma": gemma,
    "gemma2": gemma2, "gemma3": gemma3, "gemma3_text": gemma3, "deepseek_v2": deepseek,
    "deepseek_v3": deepseek, "falcon": falcon, "gpt_neox": gpt_neox, "gptj": gptj, "opt": opt,
    "bloom": bloom, "palm": palm, "gopher": gopher, "chinchilla": gopher,
}  # fmt: skip
