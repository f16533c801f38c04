"""T5's attention: a learned number per head and bucket of distances is added to each score.

Raffel et al. 2019, "Exploring the limits of transfer learning", section 2.1,
https://arxiv.org/abs/1910.10683; 32 buckets, half of them for one distance each, the others growing
with its logarithm up to 128, beyond which all are in the last one.

Shapes: b batch, n positions, d width, h heads, k head size (h k need not be d), m keys.
    x, y       [b, n, d]
    q, k, v    [b, h, n, k]
    row        [h, n + m - 1], the bias of each distance
    scores     [b, h, n, m]
    state      keys and values of the context, each [b, h, n, k]

4 d h k + 32 h parameters; no biases of projections, and scores are not divided by sqrt(k). The
n x m biases of a head are never in memory: with the queries reversed they are overlapping windows
of its row. T5's other blocks read the table of the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads, split_heads

BUCKETS = 32
_FARTHEST = 128
State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``, ``h`` heads of size ``k``; ``causal`` hides later positions."""

    d: int
    h: int
    k: int
    causal: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, h=self.h, k=self.k)


def buckets(distance: Tensor, causal: bool) -> Tensor:
    """The bucket of each distance, key minus query; later keys have the upper half of them."""
    count = BUCKETS if causal else BUCKETS // 2
    near, apart = count // 2, -distance if causal else distance.abs()
    growth = math.log(_FARTHEST / near)
    far = torch.log(apart.clamp(min=near).float() / near) / growth * (count - near)
    bucket = torch.where(apart < near, apart.clamp(min=0), near + far.long()).clamp(max=count - 1)
    return bucket if causal else bucket + (distance > 0) * count


class BiasedAttention(nn.Module):
    """softmax(q k^T + bias) v. The last query stands at the position of the last key."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.causal = config.causal
        self.table = nn.Parameter(torch.randn(BUCKETS, config.h) * config.d**-0.5)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        n, m = q.shape[-2], k.shape[-2]
        scores = q.flip(-2) @ k.transpose(-2, -1)
        scores += self.row(n, m).unfold(1, m, 1)
        weights = scores.softmax(-1)
        del scores
        return (weights @ v).flip(-2)

    def row(self, n: int, m: int) -> Tensor:
        """The bias [h, n + m - 1] of each distance, from the earliest key to the latest."""
        distance = torch.arange(1 - m, n, device=self.table.device)
        row = self.table[buckets(distance, self.causal)]
        if self.causal:
            row = row.masked_fill(distance[:, None] > 0, -torch.inf)
        return row.T


class T5Attention(nn.Module):
    """Multi-head self-attention, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, inner, self.heads = config.d, config.h * config.k, config.h
        self.q = nn.Linear(d, inner, bias=False)
        self.k = nn.Linear(d, inner, bias=False)
        self.v = nn.Linear(d, inner, bias=False)
        self.o = nn.Linear(inner, d, bias=False)
        self.core = BiasedAttention(config)

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


def _bucket(distance: int, causal: bool) -> int:
    """The same in whole numbers: a floor of a logarithm counts the powers that are not above."""
    count, apart = (32, -distance) if causal else (16, abs(distance))
    near = count // 2
    if apart < near:
        bucket = apart
    else:
        steps = range(1, count - near)
        base = apart ** (count - near)
        bucket = near + sum(
            base * near**step >= near ** (count - near) * _FARTHEST**step for step in steps
        )
    return bucket + (16 if distance > 0 else 0)


def naive(module: T5Attention, x: Tensor) -> Tensor:
    """Compute the same one head and one query at a time, with buckets found in whole numbers."""
    core = module.core
    q, k, v = module.project(x)
    n, rows = x.shape[1], []
    for i in range(n):
        seen = i + 1 if core.causal else n
        chosen = [_bucket(j - i, core.causal) for j in range(seen)]
        parts = []
        for head in range(module.heads):
            dots = (k[:, head, :seen] * q[:, head, i : i + 1]).sum(-1)
            share = (dots + core.table[chosen, head]).exp()
            share = share / share.sum(-1, keepdim=True)
            parts.append((share[..., None] * v[:, head, :seen]).sum(1))
        rows.append(torch.cat(parts, dim=-1))
    return nn.functional.linear(torch.stack(rows, dim=1), module.o.weight)


def build(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return T5Attention(Config(d, h, k, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return T5Attention(Config(d, h, k, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    module = T5Attention(Config(d, h, k, causal=True))
    return module.step, (torch.randn(b, 1, d),), (torch.randn(b, h, n, k), torch.randn(b, h, n, k))


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="t5_attention",
    title="T5 attention, bias by distance",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/1910.10683",
    symbols=("b", "n", "d", "h", "k"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "k": 64},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n**2*h*k", _TABLE_1),
        Claim("steps", "layer", "1", _TABLE_1, variables=("n",)),
        Claim("peak_bytes", "core", "n**2", "Dao et al. 2022, section 2.2", variables=("n",)),
        Claim("state_bytes", "layer", "b*n*h*k", "Shazeer 2019, section 3", mode="decode"),
    ),
    gives_up="Positions that are farther than 128 apart are not told from one another.",
    options={"causal": (False, True)},
)
