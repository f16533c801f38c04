"""A well-known pair: a recurrent cell stepped in a Python loop, and self-attention.

Articles time these two once to show that attention is the faster one "because it is parallel".
Sizes as there: batch 32, length 512, width 128, four heads.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn


class SteppedRNN(nn.Module):
    """``nn.RNNCell`` over the length, from a zero state; returns the last state, (b, d)."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.cell = nn.RNNCell(d, d)

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(x.shape[0], x.shape[2])
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
        return state


class SelfAttention(nn.Module):
    """``nn.MultiheadAttention`` with its defaults, so the averaged weights are computed too.

    It stays in training mode, because such a benchmark never calls ``eval()``: the same numbers
    come out, but by other operators than torch's fused inference path.
    """

    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(d, h, batch_first=True)

    def train(self, mode: bool = True) -> Self:
        del mode
        return super().train(True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        output, weights = self.attention(x, x, x)
        return output, weights


def rnn_cell_loop(b: int = 32, n: int = 512, d: int = 128) -> tuple[nn.Module, tuple[Tensor]]:
    """The stepped cell and an input of (b, n, d)."""
    return SteppedRNN(d), (torch.randn(b, n, d),)


def self_attention(
    b: int = 32, n: int = 512, d: int = 128, h: int = 4
) -> tuple[nn.Module, tuple[Tensor]]:
    """Self-attention and an input of (b, n, d)."""
    return SelfAttention(d, h), (torch.randn(b, n, d),)
