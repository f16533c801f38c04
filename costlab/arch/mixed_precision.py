"""Mixed precision: a decoder block in 16 bits with weights that are kept and updated in 32.

Micikevicius et al. 2018, "Mixed precision training", section 3.1,
https://arxiv.org/abs/1710.03740, with bfloat16, which needs no scaling of the loss.

Shapes: b batch, n positions, d width, h heads, k = d/h, f feed-forward width.
    x, y       [b, n, d], 32 bits at both ends
    weights    32 bits; the block runs on copies of 16 bits

Activations and their gradients have 16 bits. Each weight takes 4 bytes, 2 for its copy, which
backward needs, and 4 for its gradient: what 16 bits save is saved of activations. Weights of
another precision than 32 bits are used as they are.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call

from costlab.arch import feed_forward, flash_attention, gpt_block, layer_norm
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

Config = gpt_block.Config


def _short(value: Tensor) -> Tensor:
    """``value`` in the precision of the products."""
    return value.to(torch.bfloat16) if value.dtype == torch.float32 else value


class MixedBlock(nn.Module):
    """A block of GPT-2 that runs on copies of its weights."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.block = gpt_block.Block(config)

    def forward(self, x: Tensor) -> Tensor:
        copies = {name: _short(weight) for name, weight in self.block.named_parameters()}
        y: Tensor = functional_call(self.block, copies, _short(x))
        return y.to(x.dtype)


def naive(module: MixedBlock, x: Tensor) -> Tensor:
    """Compute the same from the naive parts, in one precision."""
    block = module.block
    x = x + flash_attention.naive(block.attention, layer_norm.naive(block.norm_attention, x))
    inner = layer_norm.naive(block.norm_feed_forward, x)
    return x + feed_forward.naive(block.feed_forward, inner)


def build(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the block and an input ``[b, n, d]``; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    return MixedBlock(Config(d, h, 4 * d if f is None else f)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="mixed_precision",
    title="Mixed precision: 16-bit products, 32-bit weights",
    kind="technique",
    family="training",
    paper="https://arxiv.org/abs/1710.03740",
    symbols=("b", "n", "d", "h", "f"),
    defaults={"b": 1, "n": 1024, "d": 768, "h": 12, "f": 3072},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "core", "b*n**2*d", "Vaswani et al. 2017, section 4, table 1"),
        Claim("saved_bytes", "layer", "n", "Micikevicius et al. 2018, 3.1", ("n",), mode="train"),
    ),
    gives_up="Two bytes more for each weight, a pass over all weights in every step, and 16 bits of"
    " each number that is no weight.",
    constraints=("h divides d",),
    ties={"f": "4*d"},
)
