"""A stack of L equal pre-norm Transformer blocks: fused attention, then a feed-forward layer.

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, with the layer norms in front as in
Xiong et al. 2020, https://arxiv.org/abs/2002.04745.

Shapes: b batch, n positions, d width, h heads, f feed-forward width, L blocks.
    x, y       [b, n, d]

Products carry no bias, norms have a gain and an offset: L (4 d**2 + 2 d f + 4 d) parameters,
which is 12 d**2 and small change for each block at f = 4 d. There is no norm after the stack.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import feed_forward, flash_attention
from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """``L`` blocks of width ``d`` with ``h`` heads and inner width ``f``."""

    d: int
    h: int
    f: int
    L: int = 1
    causal: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(f=self.f, L=self.L)


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        attention = flash_attention.Config(config.d, config.h, config.causal)
        self.norm_attention = nn.LayerNorm(config.d)
        self.attention = flash_attention.FlashAttention(attention)
        self.norm_feed_forward = nn.LayerNorm(config.d)
        self.feed_forward = feed_forward.FeedForward(feed_forward.Config(config.d, config.f))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm_attention(x))
        y: Tensor = x + self.feed_forward(self.norm_feed_forward(x))
        return y


class TransformerStack(nn.Module):
    """``L`` blocks, one after another."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.L))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def naive(module: TransformerStack, x: Tensor) -> Tensor:
    """Compute the same from the naive attention and feed-forward and a written-out norm."""
    for block in module.blocks:
        assert isinstance(block, Block)
        x = x + flash_attention.naive(block.attention, _norm(block.norm_attention, x))
        x = x + feed_forward.naive(block.feed_forward, _norm(block.norm_feed_forward, x))
    return x


def _norm(layer: nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    scaled = centred / (centred.pow(2).mean(-1, keepdim=True) + layer.eps).sqrt()
    return scaled * layer.weight + layer.bias


def build(
    *, b: int, n: int, d: int, h: int = 8, f: int | None = None, L: int = 1, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the stack and an input ``[b, n, d]``; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    config = Config(d, h, 4 * d if f is None else f, L, causal)
    return TransformerStack(config), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="transformer_block",
    title="Transformer block, pre-norm",
    kind="block",
    family="attention",
    paper="https://arxiv.org/abs/1706.03762",
    symbols=("b", "n", "d", "h", "f", "L"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "f": 2048, "L": 1},
    modes=("forward", "train"),
    claims=(
        Claim(
            "flop",
            "core",
            "b*n**2*d",
            "Vaswani et al. 2017, section 4, table 1",
            ("b", "n", "d"),
            ("one layer",),
        ),
        Claim("parameters", "layer", "d**2", "Kaplan et al. 2020, table 1", ("d",), ("f = 4 d",)),
    ),
    gives_up="Attention is quadratic in the length; two thirds of the weights mix no positions.",
    constraints=("h divides d",),
    loops=("L",),
    ties={"f": "4*d"},
    options={"causal": (False, True)},
)
