"""Grouped-query attention: h query heads share g heads of keys and values. One group is MQA.

Ainslie et al. 2023, "GQA", https://arxiv.org/abs/2305.13245; with g = 1 it is multi-query
attention, Shazeer 2019, "Fast Transformer Decoding", https://arxiv.org/abs/1911.02150.

Shapes: b batch, n positions, d width, h query heads, g key/value heads, k head size. k need not
be d/h: a tensor-parallel shard has h/tp and g/tp heads of the same k and d.
    x, y       [b, n, d]
    q          [b, h, n, k]; query head i reads key/value head i // (h/g)
    k, v       [b, g, n, k]
    state      keys and values of the context, each [b, g, n, k]

The four projections carry no bias: 2 d h k + 2 d g k parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_groups, check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads, split_heads

State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``, ``h`` query heads over ``g`` key/value heads of size ``k``."""

    d: int
    h: int
    g: int
    k: int
    causal: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, k=self.k)
        check_groups(self.h, self.g)


class GroupedAttention(nn.Module):
    """Fused attention of query heads in groups; a single query stands last and sees every key."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        b, h, n, width = q.shape
        if n > 1:
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=True)
        # One query per head: heads of a group become the queries of one head, so that its keys
        # and values are read once, not once per query head.
        g = k.shape[1]
        mixed = F.scaled_dot_product_attention(q.reshape(b, g, h // g, width), k, v)
        return mixed.reshape(b, h, 1, width)


class GQAAttention(nn.Module):
    """Self-attention with grouped heads, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.groups = config.h, config.g
        self.q = nn.Linear(config.d, config.h * config.k, bias=config.bias)
        self.k = nn.Linear(config.d, config.g * config.k, bias=config.bias)
        self.v = nn.Linear(config.d, config.g * config.k, bias=config.bias)
        self.o = nn.Linear(config.h * config.k, config.d, bias=config.bias)
        self.core = GroupedAttention(config.causal)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries ``[b, h, n, k]``, keys and values ``[b, g, n, k]`` of ``x``."""
        h, g = self.heads, self.groups
        return split_heads(self.q(x), h), split_heads(self.k(x), g), split_heads(self.v(x), g)

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


def naive(module: GQAAttention, x: Tensor) -> Tensor:
    """Compute the same one query head at a time."""
    q, k, v = module.project(x)
    shared = module.heads // module.groups
    parts = []
    for head in range(module.heads):
        keys, values = k[:, head // shared], v[:, head // shared]
        scores = torch.einsum("bik,bjk->bij", q[:, head], keys) / q.shape[-1] ** 0.5
        if module.core.causal:
            scores = scores + torch.full_like(scores, -torch.inf).triu(1)
        shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
        parts.append(torch.einsum("bij,bjk->bik", shares, values))
    return F.linear(torch.cat(parts, dim=-1), module.o.weight, module.o.bias)


def _config(d: int, h: int, g: int, k: int | None, causal: bool) -> Config:
    if k is None:
        check_heads(d, h)
        k = d // h
    return Config(d, h, g, k, causal)


def build(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int | None = None, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``; ``k`` is d/h unless given."""
    check_positive(b=b, n=n)
    return GQAAttention(_config(d, h, g, k, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int | None = None
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return GQAAttention(_config(d, h, g, k, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int | None = None
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    config = _config(d, h, g, k, causal=True)
    state = (torch.randn(b, g, n, config.k), torch.randn(b, g, n, config.k))
    return GQAAttention(config).step, (torch.randn(b, 1, d),), state


_SHAZEER = "Shazeer 2019, section 3"

SPEC = ArchitectureSpec(
    name="gqa_attention",
    title="Grouped-query attention, multi-query at g = 1",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2305.13245",
    symbols=("b", "n", "d", "h", "g", "k"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "g": 2, "k": 64},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n**2*d", _SHAZEER),
        Claim("steps", "layer", "1", "Vaswani et al. 2017, section 4, table 1", variables=("n",)),
        Claim("peak_bytes", "core", "n", "Dao et al. 2022, theorem 1", variables=("n",)),
        Claim("saved_bytes", "layer", "n", "Dao et al. 2022, theorem 1", ("n",), mode="train"),
        Claim("state_bytes", "layer", "g", _SHAZEER, variables=("g",), mode="decode"),
        Claim("state_bytes", "layer", "n", _SHAZEER, variables=("n",), mode="decode"),
    ),
    gives_up="Heads of a group share their keys: fewer views of the past, h/g times less state.",
    constraints=("g divides h",),
    ties={"k": "d/h"},
    options={"causal": (False, True)},
)
