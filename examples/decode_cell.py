"""One decode step: the factory returns a state as well, and the formula counts it.

    costlab derive examples/decode_cell.py:cached_attention --mode decode
    costlab derive examples/decode_cell.py:recurrent --mode decode

For ``--mode decode`` a factory returns ``(module, inputs, state)``. The input is one token, the
state is what came before: ``n`` cached keys and values, or a recurrent state that knows no ``n``.
The module takes the state after its inputs and returns its output first, the new state second.
"""

import torch
import torch.nn.functional as F
from torch import nn

State = tuple[torch.Tensor, torch.Tensor]


class CachedAttention(nn.Module):
    """Attention of one token ``x`` [b, 1, d] over ``n`` cached ones and itself."""

    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        keys = torch.cat([state[0], k], dim=2)
        values = torch.cat([state[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, keys, values)
        return self.out(y.transpose(1, 2).reshape(b, t, d)), (keys, values)


def cached_attention(*, b: int = 1, n: int = 512, d: int = 256, h: int = 8):
    cache = (torch.randn(b, h, n, d // h), torch.randn(b, h, n, d // h))
    return CachedAttention(d, h), (torch.randn(b, 1, d),), cache


class Recurrent(nn.Module):
    """One step of a recurrent cell: ``y`` and the new state are the same tensor [b, d]."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(d, d)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.cell(x, hidden)
        return hidden, hidden


def recurrent(*, b: int = 1, d: int = 256):
    return Recurrent(d), (torch.randn(b, d),), (torch.randn(b, d),)
