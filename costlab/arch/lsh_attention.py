"""Reformer's attention: each query sees the keys that fall into its hash bucket.

Kitaev, Kaiser and Levskaya 2020, "Reformer", https://arxiv.org/abs/2001.04451.

Shapes: b batch, n positions, d width, h heads, k = d/h head size, c chunk, R hash rounds,
r hash bits, m = ceil(n/c) chunks, N = m c padded length.
    x, y         [b, n, d]
    qk, v        [b, h, n, k]; queries and keys are one projection, keys scaled to length 1
    buckets      [b, h, R, N], from 0 to 2**r - 1; padding is 2**r
    sorted       [b, h, R, m, c, k], by bucket and, within it, by position

Per round, positions are sorted by bucket and cut into chunks; a query sees the keys of its own
bucket in its chunk and the chunk before, and itself only when it sees nothing else. The rounds
are weighted by their shares of the softmax; a pair that meets in several rounds counts as often,
as in the published code. A bucket is r signs of random projections, that is, r factors of 2, so
that hashing is n r work; one factor of 2n/c buckets would make it n**2/c. r is a size of its own;
left out, it is ceil(log2(2n/c)), two chunks for two buckets on average.

The three projections carry no bias: 3 d**2 parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads, split_heads
from costlab.ops.windows import block_count, block_spans, blocks, pad_positions

_SELF_PENALTY = -1e5  # the paper's appendix A; a query that meets no other key still sees itself


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``, heads ``h``, chunk ``c``, rounds ``R``, hash bits ``r``."""

    d: int
    h: int
    c: int
    R: int
    r: int
    causal: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(c=self.c, R=self.R, r=self.r)


class HashedCore(nn.Module):
    """Hash, sort, attend within chunks, undo the sort, combine the rounds."""

    rotations: Tensor  # [h, k, R*r]
    places: Tensor  # powers of 2, [r]

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.c, self.R, self.r, self.causal = config.c, config.R, config.r, config.causal
        width = config.d // config.h
        self.register_buffer("rotations", torch.randn(config.h, width, config.R * config.r))
        self.register_buffer("places", 2 ** torch.arange(config.r, dtype=torch.int32))

    def forward(self, qk: Tensor, v: Tensor) -> Tensor:
        n = qk.shape[-2]
        padded = block_count(n, self.c) * self.c
        buckets = F.pad(self.hash(qk.detach()), (0, padded - n), value=2**self.r)
        buckets, order = buckets.sort(dim=-1, stable=True)
        mixed, weight = self._attend(
            blocks(_take(pad_positions(qk, 0, padded - n), order), self.c),
            _take(pad_positions(v, 0, padded - n), order),
            buckets,
            order,
        )
        positions = torch.arange(padded, device=qk.device).expand_as(order)
        back = torch.empty_like(order).scatter_(-1, order, positions)[..., :n]
        weight = weight.gather(-1, back).softmax(dim=2)
        mixed = mixed.gather(-2, back[..., None].expand(*back.shape, mixed.shape[-1]))
        return (mixed * weight[..., None]).sum(2)

    def hash(self, qk: Tensor) -> Tensor:
        """Bucket of every position in every round, ``[b, h, R, n]``."""
        signs = (qk @ self.rotations) > 0
        numbers = torch.unflatten(signs, -1, (self.R, self.r)) * self.places
        return numbers.sum(-1, dtype=torch.int32).transpose(-2, -1)

    def _attend(
        self, q: Tensor, v: Tensor, buckets: Tensor, order: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Mixed values ``[b, h, R, N, k]`` and log of the softmax's sum ``[b, h, R, N]``."""
        keys = F.normalize(q, dim=-1).flatten(-3, -2)
        scores = q @ block_spans(keys, self.c, before=1).transpose(-2, -1)
        place_q, place_k = self._pairs(order)
        bucket_q, bucket_k = self._pairs(buckets)
        hidden = bucket_q != bucket_k
        if self.causal:
            hidden |= place_k > place_q
        penalty = max(_SELF_PENALTY, torch.finfo(scores.dtype).min / 2)
        scores = scores.masked_fill_(place_q == place_k, penalty).masked_fill_(hidden, -torch.inf)
        total = scores.logsumexp(-1, keepdim=True)
        shares = (scores - total).exp_()
        mixed = shares @ block_spans(v, self.c, before=1)
        return mixed.flatten(-3, -2), total.flatten(-3)

    def _pairs(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Values ``[b, h, R, N]`` at queries [.., m, c, 1] and keys [.., m, 1, 2c] of a chunk.

        Before the first chunk stands -1, which no bucket and no position equals.
        """
        own = torch.unflatten(values, -1, (-1, self.c))[..., None]
        around = F.pad(values, (self.c, 0), value=-1).unfold(-1, 2 * self.c, self.c)
        return own, around[..., None, :]


def _take(x: Tensor, order: Tensor) -> Tensor:
    """Rows of ``x`` [b, h, N, k] in the ``order`` [b, h, R, N] of each round."""
    index = order[..., None].expand(*order.shape, x.shape[-1])
    return x[:, :, None].expand_as(index).gather(-2, index)


class LSHAttention(nn.Module):
    """Multi-head attention with shared queries and keys, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.qk = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = HashedCore(config)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Shared queries and keys, and values, each ``[b, h, n, k]``."""
        return split_heads(self.qk(x), self.heads), split_heads(self.v(x), self.heads)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.o(merge_heads(self.core(*self.project(x))))
        return y


def naive(module: LSHAttention, x: Tensor) -> Tensor:
    """Compute the same query by query, from the module's buckets and their definition alone."""
    qk, v = module.project(x)
    core = module.core
    buckets = core.hash(qk.detach()).tolist()
    batch, heads, n, width = qk.shape
    rows = torch.stack(
        [
            _naive_query(core, buckets[a][g], qk[a, g], v[a, g], i)
            for a in range(batch)
            for g in range(heads)
            for i in range(n)
        ]
    )
    mixed = rows.view(batch, heads, n, width).transpose(1, 2).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def _naive_query(
    core: HashedCore, rounds: list[list[int]], qk: Tensor, v: Tensor, i: int
) -> Tensor:
    """The mixed value of query ``i`` of one head: one softmax over the pairs of all rounds."""
    seen: list[int] = []
    for bucket in rounds:
        by_bucket = sorted(range(len(bucket)), key=bucket.__getitem__)
        chunk = {j: place // core.c for place, j in enumerate(by_bucket)}
        seen += [
            j
            for j in range(len(bucket))
            if bucket[j] == bucket[i]
            and 0 <= chunk[i] - chunk[j] <= 1
            and not (core.causal and j > i)
        ]
    others = [j for j in seen if j != i] or [i]
    scores = (qk[others] @ qk[i]) / qk[others].norm(dim=-1)
    mixed: Tensor = scores.softmax(-1) @ v[others]
    return mixed


def hash_bits(n: int, c: int) -> int:
    """The usual number of hash bits: ceil(log2(2n/c)), at least 1."""
    return max(1, (block_count(2 * n, c) - 1).bit_length())


def build(
    *,
    b: int,
    n: int,
    d: int,
    h: int = 8,
    c: int = 64,
    R: int = 2,
    r: int | None = None,
    causal: bool = False,
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``; ``r`` is :func:`hash_bits` unless given."""
    check_positive(b=b, n=n, c=c)
    config = Config(d, h, c, R, hash_bits(n, c) if r is None else r, causal)
    return LSHAttention(config), (torch.randn(b, n, d),)


_PAPER = "Kitaev et al. 2020, abstract and section 2"

SPEC = ArchitectureSpec(
    name="lsh_attention",
    title="Reformer attention, locality-sensitive hashing",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2001.04451",
    symbols=("b", "n", "d", "h", "c", "R", "r"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "c": 64, "R": 2, "r": 5},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "core", "n*log(n, 2)", _PAPER, ("n",), ("c fixed", "r = log2(2n/c)")),
        Claim("peak_bytes", "core", "n*log(n, 2)", _PAPER, ("n",), ("c fixed", "r = log2(2n/c)")),
    ),
    gives_up="Queries and keys coincide, and a pair in different buckets of every round is missed.",
    constraints=("h divides d",),
    options={"causal": (False, True)},
    ties={"r": "Max(1, ceiling(log(2*n/c, 2)))"},
)
