"""LoRA over a frozen matrix of 4 bits with group scales.

Dettmers et al. 2023, "QLoRA", section 3, https://arxiv.org/abs/2305.14314, with evenly spaced
levels in place of the paper's normal ones: both are 4 bits a weight and a scale a group.

Shapes: b batch, n positions, d width, f outputs, r rank, u weights that share a scale.
    x          [b, n, d]
    y          [b, n, f]
    stored     [f, d/2] uint8, frozen, and scales [f, d/u]
    down, up   [r, d] and [f, r], trained

r (d + f) parameters, all trained.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from costlab.arch import quantised_linear
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

Config = quantised_linear.Config


class QLoRALinear(nn.Module):
    """x W^T + (alpha / r) (x A^T) B^T with W of 4 bits; only A and B are trained."""

    def __init__(self, config: Config, r: int, alpha: float = 16.0) -> None:
        super().__init__()
        check_positive(r=r)
        self.scale = alpha / r
        self.base = quantised_linear.QuantisedLinear(config)
        self.down = nn.Linear(config.d, r, bias=False)
        self.up = nn.Linear(r, config.f, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.base(x) + self.up(self.down(x)) * self.scale
        return y


def naive(module: QLoRALinear, x: Tensor) -> Tensor:
    """Compute the same with the product of the thin maps merged."""
    merged = module.scale * module.up.weight @ module.down.weight
    return quantised_linear.naive(module.base, x) + torch.einsum("bnd,fd->bnf", x, merged)


def build(
    *, b: int, n: int, d: int, f: int = 512, r: int = 16, u: int = 128
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return QLoRALinear(Config(d, f, u, four=True), r), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="qlora",
    title="Low-rank adaptation of a frozen 4-bit layer (QLoRA)",
    kind="technique",
    family="adaptation",
    paper="https://arxiv.org/abs/2305.14314",
    symbols=("b", "n", "d", "f", "r", "u"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 512, "r": 16, "u": 128},
    modes=("forward", "train"),
    claims=(Claim("parameters", "layer", "d*r + f*r", "Hu et al. 2021, section 4.2"),),
    gives_up="The 4-bit matrix is written out once more in every backward pass.",
    constraints=("u divides d", "2 divides u"),
)
