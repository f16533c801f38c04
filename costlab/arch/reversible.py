"""Reversible blocks: a block's inputs are computed from its outputs, so no depth is kept.

Gomez et al. 2017, "The reversible residual network", section 3.1,
https://arxiv.org/abs/1707.04585, with attention and feed-forward as in Kitaev et al. 2020,
"Reformer", section 3, https://arxiv.org/abs/2001.04451.

Shapes: b batch, n positions, d width, h heads, k = d/h, f feed-forward width, L blocks.
    x          [b, n, d], the start of both streams
    y          [b, n, 2 d], the two streams side by side

    forward    y1 = x1 + attention(x2),  y2 = x2 + feed_forward(y1)
    backward   x2 = y2 - feed_forward(y1),  x1 = y1 - attention(x2)

Between forward and backward live the two streams' ends, whatever L is; a step does 4 passes' FLOP.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from costlab.arch import feed_forward, flash_attention, gpt_block, layer_norm
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

Config = gpt_block.Config
Pair = tuple[Tensor, Tensor]


class Residual(nn.Module):
    """part(norm(x)), what one stream adds to the other."""

    def __init__(self, d: int, part: nn.Module) -> None:
        super().__init__()
        self.norm = layer_norm.LayerNorm(layer_norm.Config(d))
        self.part = part

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.part(self.norm(x))
        return y

    def again(self, x: Tensor, upstream: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """The output once more, and the gradients of ``x`` and of the parameters."""
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = self(x)
        found = torch.autograd.grad(y, (x, *self.parameters()), upstream)
        return y.detach(), found[0], found[1:]


class Block(nn.Module):
    """One reversible block over two streams."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d = config.d
        heads = flash_attention.Config(d, config.h, causal=True, bias=True)
        inner = feed_forward.Config(d, config.f, bias=True)
        self.attention = Residual(d, flash_attention.FlashAttention(heads))
        self.feed_forward = Residual(d, feed_forward.FeedForward(inner))

    def forward(self, x1: Tensor, x2: Tensor) -> Pair:
        y1 = x1 + self.attention(x2)
        return y1, x2 + self.feed_forward(y1)

    def back(self, ys: Pair, upstream: Pair) -> tuple[Pair, Pair, tuple[Tensor, ...]]:
        """Inputs from outputs, and the gradients of both and of the parameters."""
        (y1, y2), (d1, d2) = ys, upstream
        added, more, own = self.feed_forward.again(y1, d2)
        x2, d1 = y2 - added, d1 + more
        added, more, first = self.attention.again(x2, d1)
        return (y1 - added, x2), (d1, d2 + more), (*first, *own)


class _Through(torch.autograd.Function):
    """All blocks; only the ends of the streams are kept."""

    @staticmethod
    def forward(ctx: Any, blocks: list[Block], x1: Tensor, x2: Tensor, *_weights: Tensor) -> Pair:
        for block in blocks:
            x1, x2 = block(x1, x2)
        ctx.blocks = blocks
        ctx.save_for_backward(x1, x2)
        return x1, x2

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Any, ...]:
        ys, gradients = ctx.saved_tensors, (upstream[0], upstream[1])
        weights: list[Tensor] = []
        for block in reversed(ctx.blocks):
            ys, gradients, own = block.back(ys, gradients)
            weights[:0] = own
        return None, *gradients, *weights


class ReversibleStack(nn.Module):
    """``L`` reversible blocks, one after another."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.L))

    def forward(self, x: Tensor) -> Tensor:
        ends = _Through.apply(list(self.blocks), x, x, *self.parameters())  # type: ignore[no-untyped-call]
        return torch.cat(ends, dim=-1)


def naive(module: ReversibleStack, x: Tensor) -> Tensor:
    """Compute the same keeping everything."""
    x1 = x2 = x
    for block in module.blocks:
        assert isinstance(block, Block)
        x1 = x1 + block.attention(x2)
        x2 = x2 + block.feed_forward(x1)
    return torch.cat((x1, x2), dim=-1)


def build(
    *, b: int, n: int, d: int, h: int = 8, f: int | None = None, L: int = 6
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the stack and an input ``[b, n, d]``; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    return ReversibleStack(Config(d, h, 4 * d if f is None else f, L)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="reversible",
    title="Reversible decoder blocks",
    kind="technique",
    family="training",
    paper="https://arxiv.org/abs/1707.04585",
    symbols=("b", "n", "d", "h", "f", "L"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "f": 2048, "L": 6},
    modes=("forward", "train"),
    claims=(
        Claim("saved_bytes", "layer", "b*n*d", "Gomez et al. 2017, table 1", mode="train"),
        Claim(
            "flop",
            "core",
            "b*n**2*d",
            "Vaswani et al. 2017, section 4, table 1",
            ("b", "n", "d"),
            ("one layer",),
        ),
    ),
    gives_up="One more forward pass for every step, and rounding errors that grow with the depth.",
    constraints=("h divides d",),
    loops=("L",),
    ties={"f": "4*d"},
)
