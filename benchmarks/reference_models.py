"""The shapes that rows of published numbers give, as configs that the planner reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from costlab.planning.huggingface import from_values
from costlab.planning.model import ModelConfig

_TYPES = {"gpt3": "gpt2", "rwkv4": "rwkv", "bigbird": "big_bird", "gemma3": "gemma3_text"}


def model_of(inputs: Mapping[str, Any], name: str) -> ModelConfig | None:
    """The model of a row with a ``family``, or None if no reader knows it."""
    family = re.split(r"[ (]", str(inputs["family"]))[0]
    if family in ("reformer", "griffin"):
        return None
    return from_values(_config(inputs, family), name)


def _config(i: Mapping[str, Any], family: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "model_type": _TYPES.get(family, family), "hidden_size": i["d_model"],
        "num_hidden_layers": i["layers"], "vocab_size": i["vocab"],
        "tie_word_embeddings": i["tied"], "num_attention_heads": i.get("heads"),
        "head_dim": i.get("head_dim"), "intermediate_size": i.get("d_ff"),
    }  # fmt: skip
    if isinstance(i.get("kv_heads"), int):
        found["num_key_value_heads"] = found["num_kv_heads"] = i["kv_heads"]
    if learned := re.match(r"learned (\d+)", i.get("pos", "")):
        found["max_position_embeddings"] = int(learned[1])
    if segments := re.search(r"\+ (\d) segment", i.get("pos", "")):
        found["type_vocab_size"] = int(segments[1])
    more = _MORE.get(family)
    if more is not None:
        found.update({key: i[field] for key, field in more.items()})
    if family == "bart":
        encoder, decoder = (int(part) for part in i["layers"].split("+"))
        found.update(encoder_layers=encoder, decoder_layers=decoder)
    if family == "falcon":
        found["new_decoder_architecture"] = True
    return found


_EXPERTS = {"num_experts_per_tok": "top_k"}
_STATE = {"state_size": "d_state", "conv_kernel": "d_conv", "expand": "expand"}
_MORE: Mapping[str, Mapping[str, str]] = {
    "t5": {"d_model": "d_model", "num_heads": "heads", "d_kv": "head_dim", "d_ff": "d_ff",
           "num_layers": "layers"},
    "bart": {"d_model": "d_model", "encoder_attention_heads": "heads",
             "decoder_attention_heads": "heads", "encoder_ffn_dim": "d_ff",
             "decoder_ffn_dim": "d_ff"},
    "mixtral": {"num_local_experts": "experts", **_EXPERTS},
    "qwen3_moe": {"num_experts": "experts", "moe_intermediate_size": "moe_d_ff", **_EXPERTS},
    "mamba": {"time_step_rank": "dt_rank", **_STATE},
    "mamba2": {"num_heads": "heads", "n_groups": "n_groups", **_STATE},
    "jamba": {"attn_layer_period": "attn_every", "attn_layer_offset": "attn_offset",
              "expert_layer_period": "moe_every", "num_experts": "experts",
              "mamba_dt_rank": "dt_rank", "mamba_d_state": "d_state", "mamba_d_conv": "d_conv",
              "mamba_expand": "expand", **_EXPERTS},
    "deepseek_v2": {"q_lora_rank": "q_lora_rank", "kv_lora_rank": "kv_lora_rank",
                    "qk_nope_head_dim": "qk_nope", "qk_rope_head_dim": "qk_rope",
                    "v_head_dim": "v_head_dim", "n_shared_experts": "shared_experts",
                    "n_routed_experts": "experts", "moe_intermediate_size": "moe_d_ff",
                    "first_k_dense_replace": "dense_layers", **_EXPERTS},
}  # fmt: skip


def printed(i: Mapping[str, Any], kind: str, *, tied: bool = True) -> ModelConfig:
    """A model of which a table prints shapes alone, as an architecture of that ``model_type``."""
    d = i["d_model"]
    values = {
        "model_type": kind, "hidden_size": d, "num_hidden_layers": i["layers"],
        "num_attention_heads": i.get("heads", 1), "head_dim": i.get("head_dim"),
        "num_key_value_heads": i.get("kv_heads"), "intermediate_size": i.get("d_ff", 4 * d),
        "n_positions": i.get("n_ctx") or i.get("positions") or i.get("seq"),
        "vocab_size": i["vocab"], "tie_word_embeddings": tied,
    }  # fmt: skip
    return from_values(values, kind)
