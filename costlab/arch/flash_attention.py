"""Exact softmax attention in tiles, without n x n scores in memory (PyTorch's fused kernel).

Dao et al. 2022, "FlashAttention", https://arxiv.org/abs/2205.14135.

Shapes: b batch, n positions, d width, h heads, k = d/h head size.
    x, y       [b, n, d]
    q, k, v    [b, h, n, k]
    state      keys and values of the context, each [b, h, n, k]

The four projections carry no bias: 4 d**2 parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads, split_heads

State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` over ``h`` heads; ``causal`` hides later positions; ``bias`` of projections."""

    d: int
    h: int
    causal: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)


class FusedAttention(nn.Module):
    """``F.scaled_dot_product_attention``; a single query stands last and sees every key."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        causal = self.causal and q.shape[-2] > 1
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


class FlashAttention(nn.Module):
    """Multi-head self-attention with the fused core, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = FusedAttention(config.causal)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of ``x``, each ``[b, h, n, k]``."""
        h = self.heads
        return split_heads(self.q(x), h), split_heads(self.k(x), h), split_heads(self.v(x), h)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.o(merge_heads(self.core(*self.project(x))))
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the keys and values."""
        q, k, v = self.project(x)
        return self.o(merge_heads(self.core(q, k, v))), (k, v)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Attend from one new token ``x`` [b, 1, d] to the context and itself."""
        q, k, v = self.project(x)
        k, v = torch.cat((state[0], k), dim=2), torch.cat((state[1], v), dim=2)
        return self.o(merge_heads(self.core(q, k, v))), (k, v)


def naive(module: FlashAttention, x: Tensor) -> Tensor:
    """Compute the same with every score written out."""
    q, k, v = module.project(x)
    scores = torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5
    if module.core.causal:
        scores = scores + torch.full_like(scores, -torch.inf).triu(1)
    shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
    mixed = torch.einsum("bhij,bhjk->bihk", shares, v).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def build(
    *, b: int, n: int, d: int, h: int = 8, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return FlashAttention(Config(d, h, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return FlashAttention(Config(d, h, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    module = FlashAttention(Config(d, h, causal=True))
    state = (torch.randn(b, h, n, d // h), torch.randn(b, h, n, d // h))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Dao et al. 2022, section 3.1, theorem 1"

SPEC = ArchitectureSpec(
    name="flash_attention",
    title="FlashAttention, exact without the score matrix",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2205.14135",
    symbols=("b", "n", "d", "h"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n**2*d", _PAPER),
        Claim("peak_bytes", "core", "n", _PAPER, variables=("n",)),
        Claim("saved_bytes", "core", "n", _PAPER, variables=("n",), mode="train"),
        Claim("state_bytes", "layer", "b*n*d", "Shazeer 2019, section 3", mode="decode"),
    ),
    gives_up="Still quadratic time; the backward pass computes the scores again.",
    constraints=("h divides d",),
    options={"causal": (False, True)},
)
