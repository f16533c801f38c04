"""Structured pruning: whole heads and hidden units are taken out, and smaller matrices are left.

Michel et al. 2019, "Are sixteen heads really better than one?", section 2,
https://arxiv.org/abs/1905.10650, for heads; Li et al. 2017, "Pruning filters for efficient
ConvNets", section 3, https://arxiv.org/abs/1608.08710, for units.

Shapes: b batch, n positions, d width, h heads and f hidden units that are left, k head size.
    x, y       [b, n, d]
    q, k, v    [b, h, n, k], h k at most d

Each head taken out saves 8 b n d k + 4 b n**2 k FLOP, each unit 4 b n d. :func:`prune` makes the
block from one of ``gpt_block``; it is a dense block and needs no kernel of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import feed_forward, gpt_block, gqa_attention, layer_norm
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``; ``h`` heads of size ``k`` and ``f`` hidden units are left."""

    d: int
    h: int
    k: int
    f: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, h=self.h, k=self.k, f=self.f)


class PrunedBlock(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x)), of what is left."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, h = config.d, config.h
        heads = gqa_attention.Config(d, h, h, config.k, causal=True, bias=True)
        self.norm_attention = layer_norm.LayerNorm(layer_norm.Config(d))
        self.attention = gqa_attention.GQAAttention(heads)
        self.norm_feed_forward = layer_norm.LayerNorm(layer_norm.Config(d))
        self.feed_forward = feed_forward.FeedForward(feed_forward.Config(d, config.f, bias=True))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm_attention(x))
        y: Tensor = x + self.feed_forward(self.norm_feed_forward(x))
        return y


def prune(block: gpt_block.Block, heads: Sequence[int], units: Sequence[int]) -> PrunedBlock:
    """Copy ``block`` with these heads and hidden units alone; biases of its width stay."""
    whole = block.attention
    d, k = whole.q.weight.shape[1], whole.q.weight.shape[0] // whole.heads
    left = PrunedBlock(Config(d, len(heads), k, len(units)))
    rows = torch.cat([torch.arange(k) + head * k for head in heads])
    kept = torch.tensor(units)
    with torch.no_grad():
        left.norm_attention.load_state_dict(block.norm_attention.state_dict())
        left.norm_feed_forward.load_state_dict(block.norm_feed_forward.state_dict())
        for part in ("q", "k", "v"):
            getattr(left.attention, part).weight.copy_(getattr(whole, part).weight[rows])
            getattr(left.attention, part).bias.copy_(getattr(whole, part).bias[rows])
        left.attention.o.weight.copy_(whole.o.weight[:, rows])
        left.attention.o.bias.copy_(whole.o.bias)
        left.feed_forward.up.weight.copy_(block.feed_forward.up.weight[kept])
        left.feed_forward.up.bias.copy_(block.feed_forward.up.bias[kept])
        left.feed_forward.down.weight.copy_(block.feed_forward.down.weight[:, kept])
        left.feed_forward.down.bias.copy_(block.feed_forward.down.bias)
    return left


def naive(module: PrunedBlock, x: Tensor) -> Tensor:
    """Compute the same from the naive parts."""
    x = x + gqa_attention.naive(module.attention, layer_norm.naive(module.norm_attention, x))
    inner = layer_norm.naive(module.norm_feed_forward, x)
    return x + feed_forward.naive(module.feed_forward, inner)


def build(
    *, b: int, n: int, d: int, h: int = 6, k: int = 64, f: int = 1536
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the block and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return PrunedBlock(Config(d, h, k, f)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="structured_pruning",
    title="Structured pruning of heads and hidden units",
    kind="technique",
    family="compression",
    paper="https://arxiv.org/abs/1905.10650",
    symbols=("b", "n", "d", "h", "k", "f"),
    defaults={"b": 1, "n": 1024, "d": 768, "h": 6, "k": 64, "f": 1536},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "core", "b*n**2*h*k", "Michel et al. 2019, section 2"),
        Claim("parameters", "layer", "h + f", "both as many as are left", ("h", "f")),
    ),
    gives_up="What the heads and units did that were taken out.",
)
