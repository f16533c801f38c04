"""Attention within a window of w keys, in blocks, so that work and memory grow as n w.

Beltagy, Peters and Cohan 2020, "Longformer", https://arxiv.org/abs/2004.05150 (both sides);
Jiang et al. 2023, "Mistral 7B", https://arxiv.org/abs/2310.06825 (causal, ring buffer).

Shapes: b batch, n positions, d width, h heads, k = d/h head size, w window.
    x, y       [b, n, d]
    q, k, v    [b, h, n, k]
    state      ring buffers of keys and values, each [b, h, min(n, w), k], and the slot [1]
               that the next token overwrites

The window is w keys on each side of the query, so 2w+1; causal: w keys, the query's own
included. The four projections carry no bias: 4 d**2 parameters. Blocks of w queries see 2w
(causal) or 3w keys each; n need not be a multiple of w.
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
    """Width ``d`` over ``h`` heads, window ``w``; ``causal``; ``bias`` of projections."""

    d: int
    h: int
    w: int
    causal: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(w=self.w)


class WindowCore(nn.Module):
    """Blocked window attention; a single query stands last and sees every key it is given."""

    def __init__(self, w: int, causal: bool) -> None:
        super().__init__()
        self.w = w
        self.causal = causal

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if q.shape[-2] == 1:
            return F.scaled_dot_product_attention(q, k, v)
        return window_attention(q, k, v, self.w, causal=self.causal)


class SlidingWindow(nn.Module):
    """Multi-head self-attention within a window, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads, self.w = config.d, config.h, config.w
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = WindowCore(config.w, config.causal)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of ``x``, each ``[b, h, n, k]``."""
        h = self.heads
        return split_heads(self.q(x), h), split_heads(self.k(x), h), split_heads(self.v(x), h)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.o(merge_heads(self.core(*self.project(x))))
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last ``min(n, w)`` keys and values; the oldest is slot 0."""
        q, k, v = self.project(x)
        y = self.o(merge_heads(self.core(q, k, v)))
        slot = torch.zeros(1, dtype=torch.int64, device=x.device)
        # A copy, because a view would keep the keys of all n positions alive.
        return y, (k[:, :, -self.w :].clone(), v[:, :, -self.w :].clone(), slot)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]; a full ring buffer is overwritten in place."""
        keys, values, slot = state
        q, k, v = self.project(x)
        if keys.shape[2] < self.w:
            keys, values = torch.cat((keys, k), dim=2), torch.cat((values, v), dim=2)
        else:
            keys.index_copy_(2, slot, k)
            values.index_copy_(2, slot, v)
            slot = (slot + 1) % self.w
        return self.o(merge_heads(self.core(q, keys, values))), (keys, values, slot)


def naive(module: SlidingWindow, x: Tensor) -> Tensor:
    """Compute the same from all n x n scores, most of them masked."""
    q, k, v = module.project(x)
    scores = torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5
    w, causal = module.core.w, module.core.causal
    for i in range(x.shape[1]):
        for j in range(x.shape[1]):
            seen = i - w < j <= i if causal else abs(i - j) <= w
            if not seen:
                scores[:, :, i, j] = -torch.inf
    shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
    mixed = torch.einsum("bhij,bhjk->bihk", shares, v).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def build(
    *, b: int, n: int, d: int, h: int = 8, w: int = 256, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return SlidingWindow(Config(d, h, w, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, w: int = 256
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return SlidingWindow(Config(d, h, w, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, w: int = 256
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    module = SlidingWindow(Config(d, h, w, causal=True))
    held = (b, h, min(n, w), d // h)
    state = (torch.randn(held), torch.randn(held), torch.zeros(1, dtype=torch.int64))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Beltagy et al. 2020, section 3.1"

SPEC = ArchitectureSpec(
    name="sliding_window",
    title="Sliding-window attention, in blocks",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2004.05150",
    symbols=("b", "n", "d", "h", "w"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "w": 256},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n*w*d", _PAPER, conditions=("w fixed",)),
        Claim("peak_bytes", "core", "n", _PAPER, ("n",), ("w fixed",)),
        Claim(
            "state_bytes",
            "layer",
            "b*w*d",
            "Jiang et al. 2023, rolling buffer cache",
            conditions=("n >= w",),
            mode="decode",
        ),
    ),
    gives_up="A position farther than w is reached only through further layers, n/w of them.",
    constraints=("h divides d", "w <= n"),
    options={"causal": (False, True)},
)
