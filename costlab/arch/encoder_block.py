"""A stack of L encoder blocks of BERT: attention both ways, LayerNorm behind each part, biases.

Devlin et al. 2018, "BERT", section 3, https://arxiv.org/abs/1810.04805, with the blocks of Vaswani
et al. 2017, section 3.1.

Shapes: b batch, n positions, d width, h heads, k = d/h, f feed-forward width, L blocks.
    x, y       [b, n, d]

L (4 d**2 + 2 d f + 9 d + f) parameters. A model adds embeddings, a norm of them, and a pooler.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import feed_forward, flash_attention, layer_norm
from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """``L`` blocks of width ``d`` with ``h`` heads and inner width ``f``."""

    d: int
    h: int
    f: int
    L: int = 1
    eps: float = 1e-12

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(f=self.f, L=self.L)


class Block(nn.Module):
    """norm(x + attention(x)), then norm(x + feed_forward(x))."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        norm = layer_norm.Config(config.d, config.eps)
        heads = flash_attention.Config(config.d, config.h, bias=True)
        inner = feed_forward.Config(config.d, config.f, bias=True)
        self.attention = flash_attention.FlashAttention(heads)
        self.norm_attention = layer_norm.LayerNorm(norm)
        self.feed_forward = feed_forward.FeedForward(inner)
        self.norm_feed_forward = layer_norm.LayerNorm(norm)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm_attention(x + self.attention(x))
        y: Tensor = self.norm_feed_forward(x + self.feed_forward(x))
        return y


class EncoderStack(nn.Module):
    """``L`` blocks, one after another."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.L))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def naive(module: EncoderStack, x: Tensor) -> Tensor:
    """Compute the same from the naive parts."""
    for block in module.blocks:
        assert isinstance(block, Block)
        x = layer_norm.naive(block.norm_attention, x + flash_attention.naive(block.attention, x))
        inner = feed_forward.naive(block.feed_forward, x)
        x = layer_norm.naive(block.norm_feed_forward, x + inner)
    return x


def build(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None, L: int = 1
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the stack and an input ``[b, n, d]``; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    return EncoderStack(Config(d, h, 4 * d if f is None else f, L)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="encoder_block",
    title="BERT encoder blocks",
    kind="block",
    family="transformer",
    paper="https://arxiv.org/abs/1810.04805",
    symbols=("b", "n", "d", "h", "f", "L"),
    defaults={"b": 1, "n": 512, "d": 768, "h": 12, "f": 3072, "L": 1},
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
    gives_up="It cannot write: a new token changes what every other one has read.",
    constraints=("h divides d",),
    loops=("L",),
    ties={"f": "4*d"},
)
