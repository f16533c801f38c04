"""Gradient accumulation: a batch in micro-batches, each forward and backward before the next.

Ott et al. 2018, "Scaling neural machine translation", section 3.3 ("delayed updates"),
https://arxiv.org/abs/1806.00187.

Shapes: b sequences of a micro-batch, a micro-batches, n positions, d width, h heads, f feed-forward
width, V vocabulary.
    x          [a b, n, d]
    targets    [a b, n], integers below V
    loss       of all a b n positions, their mean

A decoder block of ``gpt_block`` and an output head. FLOP are those of the whole batch at once;
activations are those of one micro-batch, and gradients of the weights are summed in place. Under
autograd the whole is one operator, whose gradients are there before its backward pass starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch import feed_forward, flash_attention, gpt_block, layer_norm
from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """A block of width ``d``, a head over ``V`` tokens, ``a`` micro-batches."""

    d: int
    h: int
    f: int
    V: int
    a: int

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(f=self.f, V=self.V, a=self.a)


class _Accumulated(torch.autograd.Function):
    """The mean loss of the micro-batches; gradients of one are added to those of the last."""

    @staticmethod
    def forward(
        ctx: Any, part: Any, count: int, x: Tensor, targets: Tensor, *weights: Tensor
    ) -> Tensor:
        total = x.new_zeros(())
        sums: list[Tensor] = []
        rows: list[Tensor] = []
        for piece, wanted in zip(x.chunk(count), targets.chunk(count), strict=True):
            with torch.enable_grad():
                leaf = piece.detach().requires_grad_()
                loss = part(leaf, wanted) / count
            row, *found = torch.autograd.grad(loss, (leaf, *weights))
            total += loss.detach()
            rows.append(row)
            if sums:
                for kept, new in zip(sums, found, strict=True):
                    kept += new
            else:
                sums = found
            del loss, leaf, row, found
        ctx.found = torch.cat(rows), sums
        return total

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Any, ...]:
        rows, sums = ctx.found
        del ctx.found
        scaled = [gradient.mul_(upstream[0]) for gradient in (rows, *sums)]
        return None, None, scaled[0], None, *scaled[1:]


class AccumulatedLoss(nn.Module):
    """The loss of a block and its head over a batch, a micro-batch at a time."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.count = config.a
        self.block = gpt_block.Block(gpt_block.Config(config.d, config.h, config.f))
        self.head = nn.Linear(config.d, config.V, bias=False)

    def part(self, x: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of one micro-batch."""
        return F.cross_entropy(self.head(self.block(x)).flatten(0, 1), targets.flatten())

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            y: Tensor = _Accumulated.apply(self.part, self.count, x, targets, *self.parameters())  # type: ignore[no-untyped-call]
            return y
        total = x.new_zeros(())
        for piece, wanted in zip(x.chunk(self.count), targets.chunk(self.count), strict=True):
            total += self.part(piece, wanted) / self.count
        return total


def naive(module: AccumulatedLoss, x: Tensor, targets: Tensor) -> Tensor:
    """Compute the same from the naive parts, the whole batch at once."""
    block = module.block
    x = x + flash_attention.naive(block.attention, layer_norm.naive(block.norm_attention, x))
    x = x + feed_forward.naive(block.feed_forward, layer_norm.naive(block.norm_feed_forward, x))
    chances = (x @ module.head.weight.t()).softmax(-1)
    return -chances.gather(-1, targets[..., None]).log().mean()


def build(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None, V: int = 50257, a: int = 8
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module, an input ``[a b, n, d]`` and targets; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    config = Config(d, h, 4 * d if f is None else f, V, a)
    return AccumulatedLoss(config), (torch.randn(a * b, n, d), torch.randint(V, (a * b, n)))


SPEC = ArchitectureSpec(
    name="gradient_accumulation",
    title="Gradient accumulation over micro-batches",
    kind="technique",
    family="training",
    paper="https://arxiv.org/abs/1806.00187",
    symbols=("b", "n", "d", "h", "f", "V", "a"),
    defaults={"b": 1, "n": 1024, "d": 768, "h": 12, "f": 3072, "V": 50257, "a": 8},
    modes=("forward", "train"),
    claims=(Claim("flop", "layer", "a", "Ott et al. 2018, section 3.3", ("a",)),),
    gives_up="Small products: each micro-batch starts every operator again.",
    constraints=("h divides d",),
    loops=("a",),
    ties={"f": "4*d"},
)
