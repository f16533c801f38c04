"""Learned positions: one trained row of width d for each position, added to the input.

Gehring et al. 2017, "Convolutional sequence to sequence learning", section 3.1,
https://arxiv.org/abs/1705.03122; of GPT-2 and BERT.

Shapes: b batch, n positions, d width.
    x, y       [b, n, d]
    table      [n, d]

n d parameters: the table ends at the longest sequence of training.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` and the longest length ``n``."""

    d: int
    n: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, n=self.n)


class LearnedPositions(nn.Module):
    """x plus the first rows of the table."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(config.n, config.d))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.shape[1]]


def naive(module: LearnedPositions, x: Tensor) -> Tensor:
    """Compute the same one position at a time."""
    return torch.stack([x[:, at] + module.table[at] for at in range(x.shape[1])], dim=1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b)
    return LearnedPositions(Config(d, n)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="learned_positions",
    title="Learned positions",
    kind="position",
    family="positions",
    paper="https://arxiv.org/abs/1705.03122",
    symbols=("b", "n", "d"),
    defaults={"b": 1, "n": 1024, "d": 512},
    modes=("forward", "train"),
    claims=(
        Claim("parameters", "layer", "n*d", "Gehring et al. 2017, section 3.1"),
        Claim("flop", "layer", "b*n*d", "one addition an element"),
    ),
    gives_up="No position beyond the longest of training.",
)
