"""Two programs that show what a machine and a harness add: a fixed piece of work, and none."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_ROUNDS = 8


class FixedWork(nn.Module):
    """Eight products of square matrices, the same ones in each call."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((d, d), 1.0 / d))

    def forward(self, x: Tensor) -> Tensor:
        for _round in range(_ROUNDS):
            x = x @ self.weight
        return x


def fixed_work(d: int = 192) -> tuple[nn.Module, tuple[Tensor]]:
    """16 d³ FLOP; at d = 192 a few milliseconds of one core."""
    return FixedWork(d), (torch.ones(d, d),)


def nothing(d: int = 1) -> tuple[nn.Module, tuple[Tensor]]:
    """Returns its input: what is measured is the call and the clock."""
    return nn.Identity(), (torch.ones(d),)
