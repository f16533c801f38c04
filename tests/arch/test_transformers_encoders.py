"""Encoder blocks against transformers' own, with the same weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertEncoder

from costlab.arch import encoder_block, registry


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
