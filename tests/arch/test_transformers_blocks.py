"""Blocks and their parts against transformers' own, with the same weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.gpt2.configuration_gpt2 import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Model
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaModel
from transformers.models.mixtral.configuration_mixtral import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

from costlab.arch import gpt_block, llama_block, mixture_of_experts, registry
from costlab.ops.rotary import Scaling


def _copy(pairs: list[tuple[Tensor, Tensor]]) -> None:
    with torch.no_grad():
        for target, source in pairs:
            target.copy_(source)


def _same(ours: Tensor, theirs: Tensor, leaves: list[list[Tensor]]) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-6)
    upstream = torch.randn_like(ours)
    got, want = (
        torch.autograd.grad(y, part, upstream)
        for y, part in zip((ours, theirs), leaves, strict=True)
    )
    torch.testing.assert_close(got, want, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("scaling", "parameters"),
    [
        (Scaling(), {"rope_type": "default"}),
        (Scaling("linear", 4.0), {"rope_type": "linear", "factor": 4.0}),
        (Scaling("dynamic", 4.0, 5), {"rope_type": "dynamic", "factor": 4.0}),
        (
            Scaling("llama3", 8.0, 5, 1.0, 4.0),
            {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 5,
             "low_freq_factor": 1.0, "high_freq_factor": 4.0},
        ),
        (
            Scaling("yarn", 4.0, 5, 1.0, 32.0),
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 5},
        ),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)  # fmt: skip
def test_llama_blocks(scaling: Scaling, parameters: dict[str, object]) -> None:
    config = llama_block.Config(d=12, h=6, g=2, k=8, f=10, L=2, scaling=scaling)
    module = llama_block.LlamaStack(config)
    theirs: Any = LlamaModel(
        LlamaConfig(
            hidden_size=12, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
            intermediate_size=10, num_hidden_layers=2, vocab_size=11,
            max_position_embeddings=5, rope_parameters={"rope_theta": 10000.0, **parameters},
        )
    )  # fmt: skip
    theirs.norm = nn.Identity()
    for block, layer in zip(module.blocks, theirs.layers, strict=True):
        assert isinstance(block, llama_block.Block)
        own, other = block.attention, layer.self_attn
        _copy([(getattr(other, f"{p}_proj").weight, getattr(own, p).weight) for p in "qkvo"])
        feed = block.feed_forward
        _copy([
            (getattr(layer.mlp, f"{p}_proj").weight, getattr(feed, p).weight)
            for p in ("gate", "up", "down")
        ])  # fmt: skip
    x = torch.randn(3, 7, 12, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    _same(module(x), theirs(inputs_embeds=y).last_hidden_state, [[x], [y]])


def test_gpt_blocks() -> None:
    module = gpt_block.GPTStack(gpt_block.Config(d=12, h=3, f=20, L=2))
    theirs: Any = GPT2Model(
        GPT2Config(
            n_embd=12, n_head=3, n_inner=20, n_layer=2, vocab_size=11, n_positions=9,
            activation_function="gelu", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        )
    )  # fmt: skip
    theirs.ln_f = nn.Identity()
    for block, layer in zip(module.blocks, theirs.h, strict=True):
        assert isinstance(block, gpt_block.Block)
        own = block.attention
        _copy([
            (layer.attn.c_attn.weight, torch.cat([p.weight.t() for p in (own.q, own.k, own.v)], 1)),
            (layer.attn.c_attn.bias, torch.cat([p.bias for p in (own.q, own.k, own.v)])),
            (layer.attn.c_proj.weight, own.o.weight.t()), (layer.attn.c_proj.bias, own.o.bias),
            (layer.mlp.c_fc.weight, block.feed_forward.up.weight.t()),
            (layer.mlp.c_fc.bias, block.feed_forward.up.bias),
            (layer.mlp.c_proj.weight, block.feed_forward.down.weight.t()),
            (layer.mlp.c_proj.bias, block.feed_forward.down.bias),
        ])  # fmt: skip
    _copy([(theirs.wpe.weight, torch.zeros_like(theirs.wpe.weight))])
    x = torch.randn(3, 7, 12, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    _same(module(x), theirs(inputs_embeds=y).last_hidden_state, [[x], [y]])


def test_mixtral_experts_and_their_flop() -> None:
    module = mixture_of_experts.MixtureOfExperts(mixture_of_experts.Config(12, 10, 5, 2))
    config = MixtralConfig(
        hidden_size=12, intermediate_size=10, num_local_experts=5, num_experts_per_tok=2
    )
    config._experts_implementation = "eager"
    theirs: Any = MixtralSparseMoeBlock(config)
    own = module.experts
    _copy([
        (theirs.gate.weight, module.router.weight),
        (theirs.experts.gate_up_proj, torch.cat((own.gate, own.up), 1)),
        (theirs.experts.down_proj, own.down),
    ])  # fmt: skip
    x = torch.randn(3, 7, 12, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    counts, outputs = [], []
    for part, given in ((module, x), (theirs, y)):
        with FlopCounterMode(display=False) as counter:
            outputs.append(part(given))
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] == 2 * 21 * 12 * 5 + 6 * 21 * 12 * 10 * 2
    ours, other = (y[0] if isinstance(y, tuple) else y for y in outputs)
    _same(ours, other, [[x], [y]])


def _parameters(name: str, **sizes: int) -> int:
    with torch.device("meta"):
        module, _inputs = registry.load(name).build(b=1, n=1, **sizes)
    return sum(p.numel() for p in module.parameters())


def test_gpt2_small_from_its_parts() -> None:
    """124,439,808 parameters and 291,648,307,200 FLOP at 1024 tokens, as transformers' model."""
    shape = {"d": 768, "h": 12, "f": 3072, "L": 12}
    rows = _parameters("embedding", d=768, V=50257) + 1024 * 768
    assert _parameters("gpt_block", **shape) + rows + 2 * 768 == 124_439_808
    flop = 0
    for name, sizes in (("gpt_block", shape), ("output_head", {"d": 768, "V": 50257})):
        with torch.device("meta"):
            module, inputs = registry.load(name).build(b=1, n=1024, **sizes)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module(*inputs)
        flop += counter.get_total_flops()
    assert flop == 291_648_307_200


def test_mixtral_8x7b_from_its_parts() -> None:
    """46,702,792,704 parameters, of which a token uses 12,879,925,248."""
    sizes = {"d": 4096, "h": 32, "g": 8, "k": 128, "f": 1, "L": 1}
    attention = _parameters("llama_block", **sizes) - 3 * 4096
    rows = 2 * _parameters("embedding", d=4096, V=32000) + 4096
    for experts, expected in ((8, 46_702_792_704), (2, 12_879_925_248)):
        layer = attention + _parameters("mixture_of_experts", d=4096, f=14336, e=experts, t=2)
        router = 4096 * (8 - experts)
        assert rows + 32 * (layer + router) == expected
