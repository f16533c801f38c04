"""Your own attention as CostLab reads it: a factory of sizes that returns a module and its inputs.

    costlab derive examples/my_attention.py:attention
    costlab derive examples/my_attention.py:attention --mode train --set h=8
    costlab diff examples/my_attention.py:attention examples/my_attention.py:shared_keys

Nothing here knows CostLab. The keyword parameters of a factory are the symbols of its formulas;
those with a default may be left out.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Multi-head attention over ``x`` [b, n, d] with ``h`` query heads and ``g`` key heads."""

    def __init__(self, d: int, h: int, g: int) -> None:
        super().__init__()
        self.h, self.g, self.k = h, g, d // h
        self.q = nn.Linear(d, d)
        self.kv = nn.Linear(d, 2 * g * self.k)
        self.out = nn.Linear(d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.h, self.k).transpose(1, 2)
        keys, values = self.kv(x).view(b, n, 2, self.g, self.k).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, keys, values, is_causal=True, enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


def attention(*, b: int = 1, n: int = 512, d: int = 256, h: int = 8):
    """Every query head has its own keys and values."""
    return Attention(d, h, h), (torch.randn(b, n, d),)


def shared_keys(*, b: int = 1, n: int = 512, d: int = 256, h: int = 8, g: int = 2):
    """``g`` key heads serve ``h`` query heads (g divides h)."""
    return Attention(d, h, g), (torch.randn(b, n, d),)
