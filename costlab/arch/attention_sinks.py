"""A causal window and the first G tokens: attention sinks, which keep a stream's softmax in place.

Xiao et al. 2023, "Efficient streaming language models with attention sinks",
https://arxiv.org/abs/2309.17453.

Shapes: b batch, n positions, d width, h heads, k = d/h head size, w window, G sinks.
    x, y                [b, n, d]
    q, k, v             [b, h, n, k]
    keys of a block     [b, h, ceil(n/w), 2w + G, k]
    state               keys and values, each [b, h, G + w, k]: the sinks and a ring of the last w,
                        and how many tokens were seen [1]

A query sees w keys, its own included, and of the first G those that are not after it. What a
step costs and carries is the same at every length. The paper counts positions within the state;
here are none, which is that of an encoding added elsewhere. The four projections carry no bias:
4 d**2 parameters. n need not be a multiple of w.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.blocked_attention import window_attention
from costlab.ops.heads import merge_heads, split_heads

State = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` over ``h`` heads, window ``w``, ``G`` sinks; ``bias`` of projections."""

    d: int
    h: int
    w: int
    G: int
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(w=self.w, G=self.G)


class SinkCore(nn.Module):
    """Blocked causal window attention with shared keys."""

    def __init__(self, w: int, sinks: int) -> None:
        super().__init__()
        self.w, self.sinks = w, sinks

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return window_attention(q, k, v, self.w, causal=True, shared=min(self.sinks, q.shape[-2]))

    def step(self, q: Tensor, state: State) -> Tensor:
        """One query over all that is stored, its own key included."""
        keys, values, seen = state
        filled = torch.arange(self.sinks + self.w, device=q.device) < seen
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=filled[None])


class AttentionSinks(nn.Module):
    """Multi-head causal self-attention over sinks and a window, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = SinkCore(config.w, config.G)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of ``x``, each ``[b, h, n, k]``."""
        h = self.heads
        return split_heads(self.q(x), h), split_heads(self.k(x), h), split_heads(self.v(x), h)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.o(merge_heads(self.core(*self.project(x))))
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the keys and values of the sinks and of the last w tokens."""
        q, k, v = self.project(x)
        y = self.o(merge_heads(self.core(q, k, v)))
        n, (w, sinks) = x.shape[1], (self.core.w, self.core.sinks)
        # The last token of each slot; slots past n are not filled yet.
        ring = n - 1 - (n - 1 - sinks - torch.arange(w, device=x.device)) % w
        slots = torch.cat((torch.arange(sinks, device=x.device), ring))
        slots = slots.where(torch.arange(sinks + w, device=x.device) < n, 0)
        seen = torch.full((1,), n, dtype=torch.int64, device=x.device)
        return y, (k.index_select(2, slots), v.index_select(2, slots), seen)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]; the state is overwritten in place."""
        keys, values, seen = state
        q, k, v = self.project(x)
        w, sinks = self.core.w, self.core.sinks
        slot = torch.where(seen < sinks, seen, sinks + (seen - sinks) % w)
        keys.index_copy_(2, slot, k)
        values.index_copy_(2, slot, v)
        after = (keys, values, seen + 1)
        return self.o(merge_heads(self.core.step(q, after))), after


def naive(module: AttentionSinks, x: Tensor) -> Tensor:
    """Compute the same from all n x n scores, most of them masked."""
    q, k, v = module.project(x)
    scores = torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5
    w, sinks = module.core.w, module.core.sinks
    for i in range(x.shape[1]):
        for j in range(x.shape[1]):
            if j > i or (j >= sinks and j <= i - w):
                scores[:, :, i, j] = -torch.inf
    shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
    mixed = torch.einsum("bhij,bhjk->bihk", shares, v).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def build(
    *, b: int, n: int, d: int, h: int = 8, w: int = 256, G: int = 4
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return AttentionSinks(Config(d, h, w, G)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, w: int = 256, G: int = 4
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return AttentionSinks(Config(d, h, w, G)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, w: int = 256, G: int = 4
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    module = AttentionSinks(Config(d, h, w, G))
    held = (b, h, G + w, d // h)
    state = (torch.randn(held), torch.randn(held), torch.full((1,), n, dtype=torch.int64))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Xiao et al. 2023, section 3.2"

SPEC = ArchitectureSpec(
    name="attention_sinks",
    title="Attention sinks, a causal window and the first tokens",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2309.17453",
    symbols=("b", "n", "d", "h", "w", "G"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "w": 256, "G": 4},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "n", _PAPER, ("n",), ("w fixed", "G fixed")),
        Claim("peak_bytes", "core", "n", _PAPER, ("n",), ("w fixed", "G fixed")),
        Claim("state_bytes", "layer", "b*d*w + G*b*d", _PAPER, mode="decode"),
    ),
    gives_up="What is neither a sink nor in the window reaches a later token through layers only.",
    constraints=("h divides d", "G <= n"),
)
