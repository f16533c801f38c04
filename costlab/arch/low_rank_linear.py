"""A linear layer factorised to rank r: two thin products for one.

Sainath et al. 2013, "Low-rank matrix factorization for deep neural network training with
high-dimensional output targets", https://doi.org/10.1109/ICASSP.2013.6638949.

Shapes: b batch, n positions, d width, f outputs, r rank.
    x          [b, n, d]
    y          [b, n, f]

r (d + f) parameters: fewer than d f where r is below d f/(d + f), half the width of a square one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """``d`` inputs, ``f`` outputs, rank ``r``."""

    d: int
    f: int
    r: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f, r=self.r)


class LowRankLinear(nn.Module):
    """(x A^T) B^T."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.down = nn.Linear(config.d, config.r, bias=False)
        self.up = nn.Linear(config.r, config.f, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.up(self.down(x))
        return y


def naive(module: LowRankLinear, x: Tensor) -> Tensor:
    """Compute the same with one matrix of rank r."""
    return torch.einsum("bnd,fd->bnf", x, module.up.weight @ module.down.weight)


def build(
    *, b: int, n: int, d: int, f: int = 512, r: int = 64
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return LowRankLinear(Config(d, f, r)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="low_rank_linear",
    title="Linear layer factorised to low rank",
    kind="technique",
    family="compression",
    paper="https://doi.org/10.1109/ICASSP.2013.6638949",
    symbols=("b", "n", "d", "f", "r"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 512, "r": 64},
    modes=("forward", "train"),
    claims=(
        Claim("parameters", "layer", "d*r + f*r", "Sainath et al. 2013, section 3"),
        Claim("flop", "layer", "b*n*d*r + b*n*f*r", "two products"),
    ),
    gives_up="Of the map's singular values at most r are not zero.",
)
