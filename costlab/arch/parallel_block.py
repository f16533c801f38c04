"""A parallel block of PaLM: attention and feed-forward read the same norm of x.

Chowdhery et al. 2022, "PaLM", section 2, https://arxiv.org/abs/2204.02311: multi-query attention,
rotary positions, SwiGLU, no biases, of norms neither.

Shapes: b batch, n positions, d width, h query heads over one key/value head, k head size,
f feed-forward width.
    x, y       [b, n, d]
    state      keys (already turned) and values, each [b, 1, n, k]

2 d k (h + 1) + 3 d f + d parameters. One norm and one dependent part instead of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch import gated_feed_forward, gqa_attention
from costlab.arch._sizes import check_even, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads
from costlab.ops.rotary import Rotation, rotate, rotation

State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``; ``h`` query heads of size ``k``; inner width ``f``."""

    d: int
    h: int
    k: int
    f: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, h=self.h, f=self.f)
        check_even(k=self.k)


class ParallelBlock(nn.Module):
    """x + attention(norm(x)) + feed_forward(norm(x)); queries and keys are turned."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, d = config, config.d
        heads = gqa_attention.Config(d, config.h, 1, config.k, causal=True)
        self.norm = nn.LayerNorm(d, bias=False)
        self.attention = gqa_attention.GQAAttention(heads)
        inner = gated_feed_forward.Config(d, config.f)
        self.feed_forward = gated_feed_forward.GatedFeedForward(inner)

    def turn(self, x: Tensor, start: int = 0) -> Rotation:
        """Cosines and sines for ``x``, whose first token stands at ``start``."""
        return rotation(x, start, x.shape[1], self.config.k)

    def forward(self, x: Tensor) -> Tensor:
        return self.prefill(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the keys and values."""
        normed = self.norm(x)
        q, k, v = self.attention.project(normed)
        turn = self.turn(x)
        return self._finish(x, normed, rotate(q, turn), (rotate(k, turn), v))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One new token ``x`` [b, 1, d]."""
        normed = self.norm(x)
        q, k, v = self.attention.project(normed)
        turn = self.turn(x, start=state[0].shape[2])
        k = torch.cat((state[0], rotate(k, turn)), dim=2)
        return self._finish(x, normed, rotate(q, turn), (k, torch.cat((state[1], v), dim=2)))

    def _finish(self, x: Tensor, normed: Tensor, q: Tensor, state: State) -> tuple[Tensor, State]:
        mixed = self.attention.o(merge_heads(self.attention.core(q, *state)))
        return x + mixed + self.feed_forward(normed), state


def naive(module: ParallelBlock, x: Tensor) -> Tensor:
    """Compute the same head by head, with every score written out."""
    config, turn = module.config, module.turn(x)
    centred = x - x.mean(-1, keepdim=True)
    scale = (centred.pow(2).mean(-1, keepdim=True) + module.norm.eps).rsqrt()
    normed = centred * scale * module.norm.weight
    q, k, v = module.attention.project(normed)
    keys, parts = rotate(k, turn)[:, 0], []
    for head in range(config.h):
        scores = rotate(q[:, head], turn) @ keys.transpose(1, 2) / config.k**0.5
        scores = scores + torch.full_like(scores, -torch.inf).triu(1)
        parts.append(scores.softmax(-1) @ v[:, 0])
    mixed = F.linear(torch.cat(parts, -1), module.attention.o.weight)
    return x + mixed + gated_feed_forward.naive(module.feed_forward, normed)


def build(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64, f: int = 2048
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the block and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return ParallelBlock(Config(d, h, k, f)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64, f: int = 2048
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return ParallelBlock(Config(d, h, k, f)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64, f: int = 2048
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    state = (torch.randn(b, 1, n, k), torch.randn(b, 1, n, k))
    return ParallelBlock(Config(d, h, k, f)).step, (torch.randn(b, 1, d),), state


SPEC = ArchitectureSpec(
    name="parallel_block",
    title="PaLM parallel block",
    kind="block",
    family="transformer",
    paper="https://arxiv.org/abs/2204.02311",
    symbols=("b", "n", "d", "h", "k", "f"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "k": 64, "f": 2048},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim(
            "flop",
            "core",
            "b*n**2*h*k",
            "Vaswani et al. 2017, section 4, table 1",
            ("b", "n", "h", "k"),
        ),
        Claim("state_bytes", "layer", "b*n*k", "Shazeer 2019, section 3", mode="decode"),
    ),
    gives_up="The feed-forward does not read what the same block's attention found.",
    constraints=("2 divides k",),
)
