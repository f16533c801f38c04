"""Known entries against published integers and PyTorch's own layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from costlab.arch import (
    cross_attention,
    full_attention,
    gqa_attention,
    latent_attention,
    lsh_attention,
    registry,
    transformer_block,
)

Sizes = dict[str, int]


def _meta(name: str, sizes: Sizes, **option: bool) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    with torch.device("meta"):
        return registry.load(name).build(**sizes, **option)


def _forward_flop(module: nn.Module, inputs: tuple[torch.Tensor, ...], path: str = "") -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*inputs)
    if not path:
        return int(counter.get_total_flops())
    return sum(counter.get_flop_counts()[f"{type(module).__name__}.{path}"].values())


def _backward_flop(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> int:
    y = module(inputs[0].requires_grad_())
    with FlopCounterMode(display=False) as counter:
        y.backward(torch.empty_like(y))
    return int(counter.get_total_flops())


@pytest.mark.parametrize("name", ["full_attention", "flash_attention"])
def test_attention_of_width_512_at_1024(name: str) -> None:
    module, inputs = _meta(name, {"b": 1, "n": 1024, "d": 512, "h": 8})
    assert _forward_flop(module, inputs) == 4_294_967_296
    assert _backward_flop(module, inputs) == 8_589_934_592


@pytest.mark.parametrize(
    ("name", "at_1024"),
    [
        ("rnn", 1_073_741_824),
        ("rnn_cell_loop", 1_073_741_824),
        ("gru", 3_221_225_472),
        ("lstm", 4_294_967_296),
        ("lstm_1997", 3_221_225_472),
        ("gru_2014", 3_221_225_472),
        ("gru_cell_loop", 3_221_225_472),
        ("lstm_cell_loop", 4_294_967_296),
    ],
)
def test_recurrences_of_width_512(name: str, at_1024: int) -> None:
    """Known at n = 1024, counted at n = 8; in backward the zero state needs no gradient."""
    module, inputs = _meta(name, {"b": 1, "n": 8, "d": 512})
    forward = _forward_flop(module, inputs)
    assert forward * 128 == at_1024
    maps = at_1024 // (4 * 1024 * 512**2)
    # The reset gate of 2014 gets its gradient through the product of the candidate.
    maps -= name == "gru_2014"
    assert _backward_flop(module, inputs) == 2 * forward - 2 * maps * 512**2


def test_twelve_blocks_are_bert_base() -> None:
    """BERT-base at n = 512 does 96,637,943,808, its pooler's 2 d**2 included."""
    sizes = {"b": 1, "n": 512, "d": 768, "h": 12, "f": 3072, "L": 12}
    assert _forward_flop(*_meta("transformer_block", sizes)) == 96_637_943_808 - 2 * 768**2


def test_causal_linear_core_of_chunk_64() -> None:
    sizes = {"b": 1, "n": 4096, "d": 768, "h": 12, "c": 64}
    module, inputs = _meta("linear_attention", sizes, causal=True)
    assert _forward_flop(module, inputs, "core") == 1_610_612_736


def test_hashed_attention_is_the_published_layer_and_its_output_projection() -> None:
    """transformers' LSHSelfAttention with nine factors of 2 does 8,740,929,536, without W_o."""
    sizes = {"b": 1, "n": 16384, "d": 256, "h": 4, "c": 64, "R": 2, "r": 9}
    assert lsh_attention.hash_bits(16384, 64) == 9
    flop = _forward_flop(*_meta("lsh_attention", sizes))
    assert flop == 8_740_929_536 + 2 * 16384 * 256**2


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["full_attention", "flash_attention"])
def test_attention_equals_nn_multihead_attention(name: str, causal: bool) -> None:
    module = registry.load(name).build(b=3, n=11, d=10, h=2, causal=causal)[0].double()
    theirs = nn.MultiheadAttention(10, 2, bias=False, batch_first=True, dtype=torch.float64)
    weights = dict(module.named_parameters())
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([weights[f"{p}.weight"] for p in "qkv"]))
        theirs.out_proj.weight.copy_(weights["o.weight"])
    x = torch.randn(3, 11, 10, dtype=torch.float64)
    mask = torch.ones(11, 11, dtype=torch.bool).triu(1) if causal else None
    torch.testing.assert_close(module(x), theirs(x, x, x, attn_mask=mask)[0], rtol=0, atol=1e-12)


def test_attention_with_bias_equals_nn_multihead_attention() -> None:
    module = full_attention.FullAttention(full_attention.Config(6, 3, bias=True)).double()
    theirs = nn.MultiheadAttention(6, 3, batch_first=True, dtype=torch.float64)
    weights = dict(module.named_parameters())
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([weights[f"{p}.weight"] for p in "qkv"]))
        theirs.in_proj_bias.copy_(torch.cat([weights[f"{p}.bias"] for p in "qkv"]))
        theirs.out_proj.load_state_dict(module.o.state_dict())
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    torch.testing.assert_close(module(x), theirs(x, x, x)[0], rtol=0, atol=1e-12)


def test_block_equals_nn_transformer_encoder_layer() -> None:
    module = transformer_block.TransformerStack(transformer_block.Config(6, 3, 11)).double()
    block = module.blocks[0]
    assert isinstance(block, transformer_block.Block)
    theirs = nn.TransformerEncoderLayer(
        6, 3, 11, 0.0, "gelu", batch_first=True, norm_first=True, bias=False, dtype=torch.float64
    )
    attention = block.attention
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(
            torch.cat([attention.q.weight, attention.k.weight, attention.v.weight])
        )
        theirs.self_attn.out_proj.weight.copy_(attention.o.weight)
        theirs.linear1.weight.copy_(block.feed_forward.up.weight)
        theirs.linear2.weight.copy_(block.feed_forward.down.weight)
    x = torch.randn(2, 7, 6, dtype=torch.float64)
    torch.testing.assert_close(module(x), theirs(x), rtol=0, atol=1e-12)


def test_grouped_attention_equals_transformers_llama_without_rotation() -> None:
    module = gqa_attention.GQAAttention(gqa_attention.Config(12, 6, 2, 4, causal=True)).double()
    config = LlamaConfig(
        hidden_size=12, num_attention_heads=6, num_key_value_heads=2, head_dim=4, dtype="float64"
    )
    config._attn_implementation = "sdpa"
    theirs = LlamaAttention(config, layer_idx=0).double()
    with torch.no_grad():
        for ours in "qkvo":
            getattr(theirs, f"{ours}_proj").weight.copy_(getattr(module, ours).weight)
    x = torch.randn(3, 7, 12, dtype=torch.float64)
    still = torch.ones(3, 7, 4, dtype=torch.float64), torch.zeros(3, 7, 4, dtype=torch.float64)
    expected = theirs(x, position_embeddings=still, attention_mask=None)[0]
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("h", "g"), [(6, 6), (6, 2), (6, 1)])
def test_groups_are_repeated_heads_and_the_folded_step_equals_them(h: int, g: int) -> None:
    module = gqa_attention.GQAAttention(gqa_attention.Config(10, h, g, 4, causal=True)).double()
    q, k, v = module.project(torch.randn(3, 5, 10, dtype=torch.float64))
    k_all, v_all = k.repeat_interleave(h // g, 1), v.repeat_interleave(h // g, 1)
    plain = nn.functional.scaled_dot_product_attention(q, k_all, v_all, is_causal=True)
    torch.testing.assert_close(module.core(q, k, v), plain, rtol=0, atol=1e-12)
    step = module.core(q[:, :, -1:], k, v)
    torch.testing.assert_close(step, plain[:, :, -1:], rtol=0, atol=1e-12)


def test_cross_attention_equals_nn_multihead_attention() -> None:
    module = cross_attention.CrossAttention(cross_attention.Config(6, 3)).double()
    theirs = nn.MultiheadAttention(6, 3, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        weights = [getattr(module, name).weight for name in "qkv"]
        theirs.in_proj_weight.copy_(torch.cat(weights))
        theirs.out_proj.weight.copy_(module.o.weight)
    x, source = (torch.randn(2, n, 6, dtype=torch.float64) for n in (5, 11))
    expected = theirs(x, source, source, need_weights=False)[0]
    torch.testing.assert_close(module(x, source), expected, rtol=0, atol=1e-12)


def test_latent_attention_equals_transformers_deepseek_v3_without_rotation() -> None:
    ours = latent_attention.Config(10, 3, 4, 2, 5, 7, causal=True)
    module = latent_attention.LatentAttention(ours).double()
    config = DeepseekV3Config(
        hidden_size=10, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=5,
        kv_lora_rank=7, qk_nope_head_dim=4, qk_rope_head_dim=2, v_head_dim=4,
    )  # fmt: skip
    config._attn_implementation = "sdpa"
    theirs = DeepseekV3Attention(config, layer_idx=0).double()
    names = {
        "q_down": "q_a_proj", "q_up": "q_b_proj", "o": "o_proj", "kv_down": "kv_a_proj_with_mqa",
        "kv_up": "kv_b_proj",
    }  # fmt: skip
    with torch.no_grad():
        for name, other in names.items():
            getattr(theirs, other).weight.copy_(getattr(module, name).weight)
    # Theirs norm in float32 whatever the input is.
    setattr(theirs, "q_a_layernorm", module.q_norm)  # noqa: B010
    setattr(theirs, "kv_a_layernorm", module.kv_norm)  # noqa: B010
    x = torch.randn(2, 9, 10, dtype=torch.float64)
    still = torch.ones(2, 9, 2, dtype=torch.float64), torch.zeros(2, 9, 2, dtype=torch.float64)
    expected = theirs(x, position_embeddings=still, attention_mask=None)[0]
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)
