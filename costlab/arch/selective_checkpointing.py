"""Selective checkpointing: a decoder block whose attention core alone runs again for backward.

Korthikanti et al. 2022, "Reducing activation recomputation in large Transformer models", section
5, https://arxiv.org/abs/2205.05198. The block is that of ``gpt_block`` with its scores in memory,
as the paper counts it.

Shapes: b batch, n positions, d width, h heads, k = d/h, f feed-forward width.
    x, y       [b, n, d]
    q, k, v    [b, h, n, k], kept
    scores     [b, h, n, n], not kept

In 16 bits the paper keeps 34 b n d bytes at f = 4 d. Two of them are dropout masks, which this
block does not have; it keeps 8 b n bytes more, what LayerNorm found of each position. The core
that runs again stops once it has the shares: of its two products only the first is computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from costlab.arch import feed_forward, full_attention, layer_norm
from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` with ``h`` heads and inner width ``f``."""

    d: int
    h: int
    f: int

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(f=self.f)


class SelectiveBlock(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        heads = full_attention.Config(config.d, config.h, causal=True, bias=True)
        self.norm_attention = layer_norm.LayerNorm(layer_norm.Config(config.d))
        self.attention = full_attention.FullAttention(heads)
        self.norm_feed_forward = layer_norm.LayerNorm(layer_norm.Config(config.d))
        inner = feed_forward.Config(config.d, config.f, bias=True)
        self.feed_forward = feed_forward.FeedForward(inner)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.attention.project(self.norm_attention(x))
        # Nothing in the core is random: no generator's state need be kept.
        mixed = checkpoint(
            self.attention.core, q, k, v, use_reentrant=False, preserve_rng_state=False
        )
        x = x + self.attention.o(merge_heads(mixed))
        y: Tensor = x + self.feed_forward(self.norm_feed_forward(x))
        return y


def naive(module: SelectiveBlock, x: Tensor) -> Tensor:
    """Compute the same from the naive parts, keeping everything."""
    x = x + full_attention.naive(module.attention, layer_norm.naive(module.norm_attention, x))
    inner = layer_norm.naive(module.norm_feed_forward, x)
    return x + feed_forward.naive(module.feed_forward, inner)


def build(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the block and an input ``[b, n, d]``; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    return SelectiveBlock(Config(d, h, 4 * d if f is None else f)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="selective_checkpointing",
    title="Selective checkpointing: the attention core runs again",
    kind="technique",
    family="training",
    paper="https://arxiv.org/abs/2205.05198",
    symbols=("b", "n", "d", "h", "f"),
    defaults={"b": 1, "n": 1024, "d": 768, "h": 12, "f": 3072},
    modes=("forward", "train"),
    claims=(
        Claim(
            "saved_bytes", "layer", "n", "Korthikanti et al. 2022, section 5", ("n",), mode="train"
        ),
        Claim("flop", "core", "b*n**2*d", "Vaswani et al. 2017, section 4, table 1"),
    ),
    gives_up="The scores once more; what is kept still grows with the depth.",
    constraints=("h divides d",),
    ties={"f": "4*d"},
)
