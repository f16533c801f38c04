"""Full softmax attention with its n x n scores in memory.

Vaswani et al. 2017, "Attention is all you need", https://arxiv.org/abs/1706.03762.

Shapes: b batch, n positions, d width, h heads, k = d/h head size, m keys.
    x, y       [b, n, d]
    q, k, v    [b, h, n, k]
    scores     [b, h, n, m]
    state      keys and values of the context, each [b, h, n, k]

The four projections carry no bias, as in the paper's formulas: 4 d**2 parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
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


class ScoredAttention(nn.Module):
    """softmax(q k^T / sqrt(k)) v. The last query stands at the position of the last key."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        n, m = q.shape[-2], k.shape[-2]
        weights = (q * (1 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)
        if self.causal and n > 1:
            query = torch.arange(m - n, m, device=q.device)
            key = torch.arange(m, device=q.device)
            weights.masked_fill_(key > query[:, None], -torch.inf)
        # Rebinding the name frees the scores before the product with v.
        weights = weights.softmax(-1)
        return weights @ v


class FullAttention(nn.Module):
    """Multi-head self-attention, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = ScoredAttention(config.causal)

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


def naive(module: FullAttention, x: Tensor) -> Tensor:
    """Compute the same one head and one query at a time."""
    q, k, v = module.project(x)
    batch, heads, n, width = q.shape
    rows = []
    for i in range(n):
        seen = i + 1 if module.core.causal else n
        parts = []
        for head in range(heads):
            dots = (k[:, head, :seen] * q[:, head, i : i + 1]).sum(-1) / width**0.5
            share = dots.exp() / dots.exp().sum(-1, keepdim=True)
            parts.append((share[..., None] * v[:, head, :seen]).sum(1))
        rows.append(torch.cat(parts, dim=-1))
    mixed = torch.stack(rows, dim=1)
    assert mixed.shape == (batch, n, heads * width)
    return nn.functional.linear(mixed, module.o.weight, module.o.bias)


def build(
    *, b: int, n: int, d: int, h: int = 8, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return FullAttention(Config(d, h, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return FullAttention(Config(d, h, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    module = FullAttention(Config(d, h, causal=True))
    state = (torch.randn(b, h, n, d // h), torch.randn(b, h, n, d // h))
    return module.step, (torch.randn(b, 1, d),), state


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="full_attention",
    title="Full attention, scores in memory",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/1706.03762",
    symbols=("b", "n", "d", "h"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n**2*d", _TABLE_1),
        Claim("steps", "layer", "1", _TABLE_1, variables=("n",)),
        Claim("peak_bytes", "core", "n**2", "Dao et al. 2022, section 2.2", variables=("n",)),
        Claim("state_bytes", "layer", "b*n*d", "Shazeer 2019, section 3", mode="decode"),
    ),
    gives_up="Time and memory grow with the square of the length; the decode state grows with it.",
    constraints=("h divides d",),
    options={"causal": (False, True)},
)
