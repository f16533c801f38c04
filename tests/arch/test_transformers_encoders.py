"""Encoder, encoder-decoder and parallel blocks against transformers' own, with the same weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.bart.configuration_bart import BartConfig
from transformers.models.bart.modeling_bart import BartModel
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertEncoder
from transformers.models.cohere.configuration_cohere import CohereConfig
from transformers.models.cohere.modeling_cohere import CohereModel
from transformers.models.t5.configuration_t5 import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

from costlab.arch import encoder_block, encoder_decoder, parallel_block, registry, t5_attention


def _same_layer(theirs: nn.Module, ours: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())


def _same(ours: Tensor, theirs: Tensor, leaves: list[list[Tensor]]) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=4e-6)
    upstream = torch.randn_like(ours)
    got, want = (
        torch.autograd.grad(y, part, upstream)
        for y, part in zip((ours, theirs), leaves, strict=True)
    )
    torch.testing.assert_close(got, want, rtol=1e-4, atol=2e-5)


def _two(*shape: int) -> tuple[Tensor, Tensor]:
    x = torch.randn(shape, requires_grad=True)
    return x, x.detach().clone().requires_grad_()


def _shaken(module: nn.Module) -> Any:
    """With no gain at 1 and no bias at 0, so that a norm in another place shows."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


def test_bert_blocks() -> None:
    module = _shaken(encoder_block.EncoderStack(encoder_block.Config(d=12, h=3, f=20, L=2)))
    theirs: Any = BertEncoder(
        BertConfig(
            hidden_size=12, num_attention_heads=3, intermediate_size=20, num_hidden_layers=2,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )
    )  # fmt: skip
    theirs.config._attn_implementation = "eager"
    for block, layer in zip(module.blocks, theirs.layer, strict=True):
        mixing, behind = layer.attention.self, layer.attention.output
        _same_layer(mixing.query, block.attention.q)
        _same_layer(mixing.key, block.attention.k)
        _same_layer(mixing.value, block.attention.v)
        _same_layer(behind.dense, block.attention.o)
        _same_layer(behind.LayerNorm, block.norm_attention.norm)
        _same_layer(layer.intermediate.dense, block.feed_forward.up)
        _same_layer(layer.output.dense, block.feed_forward.down)
        _same_layer(layer.output.LayerNorm, block.norm_feed_forward.norm)
    x, y = _two(3, 7, 12)
    _same(module(x), theirs(y).last_hidden_state, [[x], [y]])


def _copy_attention(theirs: nn.Module, ours: nn.Module) -> None:
    for name, part in (("q_proj", "q"), ("k_proj", "k"), ("v_proj", "v"), ("out_proj", "o")):
        _same_layer(getattr(theirs, name), getattr(ours, part))


def test_bart_blocks() -> None:
    config = encoder_decoder.Config(d=12, h=3, f=20, L=2, eps=1e-5)
    module = _shaken(encoder_decoder.EncoderDecoder(config))
    theirs: Any = BartModel(
        BartConfig(
            d_model=12, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
            decoder_attention_heads=3, encoder_ffn_dim=20, decoder_ffn_dim=20, vocab_size=11,
            max_position_embeddings=16, dropout=0.0, attention_dropout=0.0,
            activation_dropout=0.0,
        )
    )  # fmt: skip
    pairs = [(theirs.encoder.layers, module.encoder.blocks), (theirs.decoder.layers, module.blocks)]
    for stack, (layers, blocks) in zip((theirs.encoder, theirs.decoder), pairs, strict=True):
        nn.init.zeros_(stack.embed_positions.weight)
        stack.layernorm_embedding = nn.Identity()
        for layer, block in zip(layers, blocks, strict=True):
            _copy_attention(layer.self_attn, block.attention)
            _same_layer(layer.self_attn_layer_norm, block.norm_attention.norm)
            _same_layer(layer.fc1, block.feed_forward.up)
            _same_layer(layer.fc2, block.feed_forward.down)
            _same_layer(layer.final_layer_norm, block.norm_feed_forward.norm)
            if hasattr(block, "cross"):
                _copy_attention(layer.encoder_attn, block.cross)
                _same_layer(layer.encoder_attn_layer_norm, block.norm_cross.norm)
    (x, y), (source, read) = _two(3, 7, 12), _two(3, 5, 12)
    other = theirs(inputs_embeds=read, decoder_inputs_embeds=y).last_hidden_state
    _same(module(x, source), other, [[x, source], [y, read]])


def _interleaved(weight: Tensor, heads: int) -> Tensor:
    """Rows of each head in the order in which their model pairs channels: 2 i with 2 i + 1."""
    halves = weight.view(heads, 2, -1, weight.shape[-1])
    return halves.transpose(1, 2).reshape(weight.shape)


def test_parallel_blocks_as_coheres() -> None:
    blocks = [_shaken(parallel_block.ParallelBlock(parallel_block.Config(12, 3, 4, 20)))] * 2
    theirs: Any = CohereModel(
        CohereConfig(
            hidden_size=12, num_attention_heads=3, num_key_value_heads=1, intermediate_size=20,
            num_hidden_layers=2, vocab_size=11, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        )
    )  # fmt: skip
    theirs.norm = nn.Identity()
    for block, layer in zip(blocks, theirs.layers, strict=True):
        _same_layer(layer.input_layernorm, block.norm)
        with torch.no_grad():
            layer.self_attn.q_proj.weight.copy_(_interleaved(block.attention.q.weight, 3))
            layer.self_attn.k_proj.weight.copy_(_interleaved(block.attention.k.weight, 1))
        _same_layer(layer.self_attn.v_proj, block.attention.v)
        _same_layer(layer.self_attn.o_proj, block.attention.o)
        for part in ("gate", "up", "down"):
            _same_layer(getattr(layer.mlp, f"{part}_proj"), getattr(block.feed_forward, part))
    x, y = _two(3, 7, 12)
    _same(blocks[1](blocks[0](x)), theirs(inputs_embeds=y).last_hidden_state, [[x], [y]])


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_t5_and_its_buckets(causal: bool) -> None:
    """Beyond 128 positions, so that every bucket is in use."""
    ours = t5_attention.T5Attention(t5_attention.Config(d=12, h=3, k=5, causal=causal))
    config = T5Config(d_model=12, d_kv=5, num_heads=3, dropout_rate=0.0, is_decoder=causal)
    config._attn_implementation = "eager"
    theirs: Any = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    for part in "qkvo":
        _same_layer(getattr(theirs, part), getattr(ours, part))
    with torch.no_grad():
        theirs.relative_attention_bias.weight.copy_(ours.core.table)
    hidden = torch.full((150, 150), -torch.inf).triu(1)[None, None] if causal else None
    x, y = _two(2, 150, 12)
    table = theirs.relative_attention_bias.weight
    _same(ours(x), theirs(y, mask=hidden)[0], [[x, ours.core.table], [y, table]])
    apart = torch.arange(-150, 1 if causal else 151)
    assert len(t5_attention.buckets(apart, causal).unique()) == (32 if causal else 31)


def test_two_stacks_of_t5_small_and_its_head() -> None:
    """36,624,662,528 FLOP for 512 tokens read and 128 written, as transformers' model."""
    flop = 0
    sizes = {"b": 1, "n": 128, "m": 512, "d": 512, "h": 8, "f": 2048, "L": 6}
    for name, given in (
        ("encoder_decoder", sizes),
        ("output_head", {"n": 128, "d": 512, "V": 32128}),
    ):
        with torch.device("meta"):
            module, inputs = registry.load(name).build(**{"b": 1, **given})
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module(*inputs)
        flop += counter.get_total_flops()
    assert flop == 36_624_662_528


def test_bert_base_from_its_blocks() -> None:
    """96,637,943,808 FLOP at 512 tokens and 109,482,240 parameters, pooler included."""
    with torch.device("meta"):
        module, inputs = registry.load("encoder_block").build(b=1, n=512, d=768, L=12)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*inputs)
    assert counter.get_total_flops() + 2 * 768**2 == 96_637_943_808
    embeddings = (30522 + 512 + 2) * 768 + 2 * 768
    blocks = sum(p.numel() for p in module.parameters())
    assert blocks + embeddings + 768**2 + 768 == 109_482_240
