"""A gated feed-forward layer, with the hidden width ``f`` as a size of its own name.

    costlab derive examples/gated_mlp.py:gated_mlp --mode train
    costlab derive examples/gated_mlp.py:as_function

A factory may also return a function, or a method of a module, instead of a module.
"""

import torch
import torch.nn.functional as F
from torch import nn


class GatedMLP(nn.Module):
    """``down(silu(gate(x)) * up(x))`` for ``x`` [b, n, d]."""

    def __init__(self, d: int, f: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d, f, bias=False)
        self.up = nn.Linear(d, f, bias=False)
        self.down = nn.Linear(f, d, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


def gated_mlp(*, b: int = 1, n: int = 512, d: int = 256, f: int = 1024):
    return GatedMLP(d, f), (torch.randn(b, n, d),)


def as_function(*, b: int = 1, n: int = 512, d: int = 256):
    """The same operators from a function of three tensors."""

    def mlp(x: torch.Tensor, up: torch.Tensor, down: torch.Tensor) -> torch.Tensor:
        return F.silu(x @ up) @ down

    return mlp, (torch.randn(b, n, d), torch.randn(d, 4 * d), torch.randn(4 * d, d))
