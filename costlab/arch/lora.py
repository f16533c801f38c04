"""Low-rank adaptation: a frozen linear layer plus the product of two thin trained ones.

Hu et al. 2021, "LoRA", section 4.1, https://arxiv.org/abs/2106.09685.

Shapes: b batch, n positions, d width, f outputs, r rank.
    x          [b, n, d]
    y          [b, n, f]
    down       [r, d], trained
    up         [f, r], trained; from zero in the paper, from random numbers here
    base       [f, d], frozen

d f parameters, of which none is trained, and r (d + f) that are. Backward computes no gradient of
the frozen matrix: one product of three less.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """``d`` inputs, ``f`` outputs, rank ``r``; the adaptation counts ``alpha``/r."""

    d: int
    f: int
    r: int
    alpha: float = 16.0

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f, r=self.r)


class LoRALinear(nn.Module):
    """x W^T + (alpha / r) (x A^T) B^T; only A and B are trained."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.scale = config.alpha / config.r
        self.base = nn.Linear(config.d, config.f, bias=False)
        self.base.weight.requires_grad_(False)
        self.down = nn.Linear(config.d, config.r, bias=False)
        self.up = nn.Linear(config.r, config.f, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.base(x) + self.up(self.down(x)) * self.scale
        return y


def naive(module: LoRALinear, x: Tensor) -> Tensor:
    """Compute the same with the adaptation merged into the matrix."""
    merged = module.base.weight + module.scale * module.up.weight @ module.down.weight
    return torch.einsum("bnd,fd->bnf", x, merged)


def build(
    *, b: int, n: int, d: int, f: int = 512, r: int = 16
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return LoRALinear(Config(d, f, r)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="lora",
    title="Low-rank adaptation of a frozen linear layer (LoRA)",
    kind="technique",
    family="adaptation",
    paper="https://arxiv.org/abs/2106.09685",
    symbols=("b", "n", "d", "f", "r"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 512, "r": 16},
    modes=("forward", "train"),
    claims=(
        Claim("parameters", "layer", "r", "Hu et al. 2021, section 4.2", ("r",)),
        Claim("flop", "layer", "b*n*d*f + b*n*d*r + b*n*f*r", "three products"),
    ),
    gives_up="Changes of the matrix have rank r; the frozen matrix is still held and multiplied.",
)
