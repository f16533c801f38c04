"""Linformer: keys and values projected along the sequence to r rows, whatever its length.

Wang et al. 2020, "Linformer: Self-Attention with Linear Complexity",
https://arxiv.org/abs/2006.04768.

Shapes: b batch, n positions, d width, h heads, k = d/h head size, r rows that stay.
    x, y         [b, n, d]
    q            [b, h, n, k]
    E, F         [n, r], of keys and values, shared by the heads
    E^T k, F^T v [b, r, d], over heads [b, h, r, k]

Each query attends to the r rows. The projections of x carry no bias: 4 d**2 + 2 n r parameters.
There is no causal form: every row mixes all positions before any could be hidden.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads, split_heads


@dataclass(frozen=True, slots=True)
class Config:
    """Length ``n``, width ``d`` over ``h`` heads, ``r`` rows; ``bias`` of the projections of x."""

    n: int
    d: int
    h: int
    r: int
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(n=self.n, r=self.r)


class LowRankCore(nn.Module):
    """Attention to ``r`` mixtures of the positions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.h
        # Normal with variance 1/r, as the paper's proofs draw the projections.
        spread = 1 / math.sqrt(config.r)
        self.keys = nn.Parameter(torch.randn(config.n, config.r) * spread)
        self.values = nn.Parameter(torch.randn(config.n, config.r) * spread)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Mixed values [b, h, n, k] of ``q`` [b, h, n, k] and ``k``, ``v`` [b, n, d]."""
        # With the batch expanded a product per sequence needs no copy of k or v.
        keys = self.keys.t().expand(k.shape[0], -1, -1) @ k
        values = self.values.t().expand(v.shape[0], -1, -1) @ v
        h = self.heads
        return F.scaled_dot_product_attention(q, split_heads(keys, h), split_heads(values, h))


class Linformer(nn.Module):
    """Multi-head attention to the projected positions, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = LowRankCore(config)

    def forward(self, x: Tensor) -> Tensor:
        mixed = self.core(split_heads(self.q(x), self.heads), self.k(x), self.v(x))
        y: Tensor = self.o(merge_heads(mixed))
        return y


def naive(module: Linformer, x: Tensor) -> Tensor:
    """Compute the same with one sum per row, head by head."""
    q, k, v = module.q(x), module.k(x), module.v(x)
    width = q.shape[-1] // module.heads
    parts = []
    for head in range(module.heads):
        own = slice(head * width, (head + 1) * width)
        keys = torch.einsum("bnk,nr->brk", k[..., own], module.core.keys)
        values = torch.einsum("bnk,nr->brk", v[..., own], module.core.values)
        scores = torch.einsum("bnk,brk->bnr", q[..., own], keys) / width**0.5
        shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
        parts.append(torch.einsum("bnr,brk->bnk", shares, values))
    return F.linear(torch.cat(parts, dim=-1), module.o.weight, module.o.bias)


def build(
    *, b: int, n: int, d: int, h: int = 8, r: int = 256
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module for sequences of ``n`` and an input ``[b, n, d]``."""
    check_positive(b=b)
    return Linformer(Config(n, d, h, r)), (torch.randn(b, n, d),)


_PAPER = "Wang et al. 2020, section 4, table 1"

SPEC = ArchitectureSpec(
    name="linformer",
    title="Linformer, keys and values of low rank",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2006.04768",
    symbols=("b", "n", "d", "h", "r"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "r": 256},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "core", "b*n*r*d", _PAPER, conditions=("r fixed",)),
        Claim("peak_bytes", "core", "n", _PAPER, ("n",), ("r fixed",)),
        Claim("steps", "layer", "1", _PAPER, variables=("n",)),
    ),
    gives_up="A length fixed in the weights, no causal form, and r mixtures in place of n keys.",
    constraints=("h divides d",),
)
