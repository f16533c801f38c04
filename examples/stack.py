"""Many equal layers: a fixed number written in the code, and a number that is a size.

    costlab derive examples/stack.py:stack96
    costlab derive examples/stack.py:stack --set d=256

CostLab finds that the 96 layers are equal, runs a few of them, and writes the formula for all.
"""

import torch
from torch import nn


class Layer(nn.Module):
    """A pre-norm residual feed-forward layer of width ``d``."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(2 * d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Stack(nn.Module):
    """``layers`` layers one after the other on ``x`` [b, n, d]."""

    def __init__(self, d: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(d) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def stack96(*, b: int = 1, n: int = 128, d: int = 64):
    """96 layers, whatever the sizes."""
    return Stack(d, 96), (torch.randn(b, n, d),)


def stack(*, b: int = 1, n: int = 128, d: int = 64, L: int = 12):
    """The number of layers is the size ``L``."""
    return Stack(d, L), (torch.randn(b, n, d),)
