"""A stack of L Llama blocks: RMSNorm, rotary grouped-query attention, SwiGLU, no biases.

Touvron et al. 2023, "LLaMA", section 2.2, https://arxiv.org/abs/2302.13971, and "Llama 2",
section 2.2, https://arxiv.org/abs/2307.09288 (grouped-query attention).

Shapes: b batch, n positions, d width, h query heads, g key/value heads, k head size, f
feed-forward width, L blocks. k need not be d/h: a tensor-parallel shard has h/tp, g/tp and f/tp.
    x, y       [b, n, d]
    state      keys (already turned) and values of each block, 2 L tensors [b, g, n, k]

L (2 d k (h + g) + 3 d f + 2 d) parameters. A model adds the embedding, a last norm and the head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch import gated_feed_forward, gqa_attention, rms_norm
from costlab.arch._sizes import check_even, check_groups, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads
from costlab.ops.rotary import Rotation, Scaling, rotate, rotation

State = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """``L`` blocks; ``h`` query heads over ``g`` of size ``k``; ``base`` of the angles."""

    d: int
    h: int
    g: int
    k: int
    f: int
    L: int = 1
    base: float = 10000.0
    scaling: Scaling = field(default_factory=Scaling)
    eps: float = 1e-6

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f, L=self.L)
        check_groups(self.h, self.g)
        check_even(k=self.k)


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x)); queries and keys are turned."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d = config.d
        heads = gqa_attention.Config(d, config.h, config.g, config.k, causal=True)
        self.norm_attention = rms_norm.RMSNorm(rms_norm.Config(d, config.eps))
        self.attention = gqa_attention.GQAAttention(heads)
        self.norm_feed_forward = rms_norm.RMSNorm(rms_norm.Config(d, config.eps))
        inner = gated_feed_forward.Config(d, config.f)
        self.feed_forward = gated_feed_forward.GatedFeedForward(inner)

    def forward(
        self, x: Tensor, turn: Rotation, past: State = (), *, keep: bool = True
    ) -> tuple[Tensor, State]:
        """The block's output and the keys and values of ``past`` and ``x``, none unless kept."""
        attention = self.attention
        q, k, v = attention.project(self.norm_attention(x))
        q, k = rotate(q, turn), rotate(k, turn)
        if past:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        x = x + attention.o(merge_heads(attention.core(q, k, v)))
        y = x + self.feed_forward(self.norm_feed_forward(x))
        return y, (k, v) if keep else ()


class LlamaStack(nn.Module):
    """``L`` blocks, one after another; the angles are computed once for all."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.L))

    def turn(self, x: Tensor, start: int = 0) -> Rotation:
        """Cosines and sines for ``x``, whose first token stands at ``start``."""
        c = self.config
        return rotation(x, start, x.shape[1], c.k, c.base, c.scaling)

    def forward(self, x: Tensor) -> Tensor:
        turn = self.turn(x)
        for block in self.blocks:
            x, _ = block(x, turn, keep=False)
        return x

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping every block's keys and values."""
        turn = self.turn(x)
        state: list[Tensor] = []
        for block in self.blocks:
            x, kept = block(x, turn)
            state += kept
        return x, tuple(state)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One new token ``x`` [b, 1, d] through all blocks."""
        turn = self.turn(x, start=state[0].shape[2])
        after: list[Tensor] = []
        for number, block in enumerate(self.blocks):
            x, kept = block(x, turn, state[2 * number : 2 * number + 2])
            after += kept
        return x, tuple(after)


def naive(module: LlamaStack, x: Tensor) -> Tensor:
    """Compute the same head by head, the turns as products of complex numbers."""
    config = module.config
    cos, sin = module.turn(x)
    for block in module.blocks:
        assert isinstance(block, Block)
        q, k, v = block.attention.project(rms_norm.naive(block.norm_attention, x))
        parts = []
        for head in range(config.h):
            shared = head // (config.h // config.g)
            query, key = (_turned(t, cos, sin) for t in (q[:, head], k[:, shared]))
            scores = query @ key.transpose(1, 2) / config.k**0.5
            scores = scores + torch.full_like(scores, -torch.inf).triu(1)
            parts.append(scores.softmax(-1) @ v[:, shared])
        x = x + F.linear(torch.cat(parts, -1), block.attention.o.weight)
        x = x + gated_feed_forward.naive(
            block.feed_forward, rms_norm.naive(block.norm_feed_forward, x)
        )
    return x


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.complex(cos, sin)
    return torch.cat((turned.real, turned.imag), dim=-1)


def build(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int = 64, f: int = 1376, L: int = 1
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the stack and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return LlamaStack(Config(d, h, g, k, f, L)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int = 64, f: int = 1376, L: int = 1
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return LlamaStack(Config(d, h, g, k, f, L)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int = 64, f: int = 1376, L: int = 1
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    state = tuple(torch.randn(b, g, n, k) for _ in range(2 * L))
    return LlamaStack(Config(d, h, g, k, f, L)).step, (torch.randn(b, 1, d),), state


SPEC = ArchitectureSpec(
    name="llama_block",
    title="Llama decoder blocks",
    kind="block",
    family="transformer",
    paper="https://arxiv.org/abs/2302.13971",
    symbols=("b", "n", "d", "h", "g", "k", "f", "L"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "g": 2, "k": 64, "f": 1376, "L": 1},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim(
            "flop",
            "core",
            "b*n**2*h*k",
            "Vaswani et al. 2017, section 4, table 1",
            ("b", "n", "h", "k"),
            ("one layer",),
        ),
        Claim("state_bytes", "layer", "L*b*n*g*k", "Ainslie et al. 2023, figure 1", mode="decode"),
    ),
    gives_up="Attention is quadratic in the length, and its state grows with it, h/g times less.",
    constraints=("g divides h", "2 divides k"),
    loops=("L",),
)
