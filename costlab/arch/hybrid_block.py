"""A Mamba layer and an attention layer, each with a gated feed-forward behind it: Jamba's parts.

Lieber et al. 2024, "Jamba", section 2, https://arxiv.org/abs/2403.19887. There seven Mamba layers
come to one of attention: their costs add up. No positions: the Mamba layers tell them.

Shapes: b batch, n positions, d width, h query heads over g key/value heads of size k, f
feed-forward width, s state size, r rank of Mamba's steps, c chunk of its scan.
    x, y       [b, n, d]
    state      Mamba's two tensors [b, 2d, 3] and [b, 2d, s]; keys and values [b, g, n, k]

6 d**2 + 2 d (2 r + 3 s + 7) + 2 d k (h + g) + 6 d f + 4 d parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import gated_feed_forward, gqa_attention, mamba, rms_norm
from costlab.arch._sizes import check_groups, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.windows import block_count

State = tuple[Tensor, ...]
_TAPS_KEPT = 3


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``; attention of ``h``, ``g``, ``k``; inner width ``f``; Mamba of ``s, r, c``."""

    d: int
    h: int
    g: int
    k: int
    f: int
    s: int
    r: int
    c: int
    eps: float = 1e-6

    def __post_init__(self) -> None:
        check_positive(d=self.d, k=self.k, f=self.f)
        check_groups(self.h, self.g)


class Layer(nn.Module):
    """x + mixer(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, config: Config, mixer: mamba.Mamba | gqa_attention.GQAAttention) -> None:
        super().__init__()
        norm = rms_norm.Config(config.d, config.eps)
        self.norm_mixer = rms_norm.RMSNorm(norm)
        self.mixer = mixer
        self.norm_feed_forward = rms_norm.RMSNorm(norm)
        inner = gated_feed_forward.Config(config.d, config.f)
        self.feed_forward = gated_feed_forward.GatedFeedForward(inner)

    def forward(self, x: Tensor) -> Tensor:
        return self.finish(x + self.mixer(self.norm_mixer(x)))

    def finish(self, x: Tensor) -> Tensor:
        """The half after the mixer."""
        y: Tensor = x + self.feed_forward(self.norm_feed_forward(x))
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the mixer's state."""
        mixed, state = self.mixer.prefill(self.norm_mixer(x))
        return self.finish(x + mixed), state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One new token ``x`` [b, 1, d]."""
        mixed, after = self.mixer.step(self.norm_mixer(x), (state[0], state[1]))
        return self.finish(x + mixed), after


class HybridBlock(nn.Module):
    """The Mamba layer, then the attention layer."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        heads = gqa_attention.Config(config.d, config.h, config.g, config.k, causal=True)
        scan = mamba.Config(config.d, config.s, config.r, config.c)
        self.recurrent = Layer(config, mamba.Mamba(scan))
        self.attending = Layer(config, gqa_attention.GQAAttention(heads))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.attending(self.recurrent(x))
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping both states."""
        x, first = self.recurrent.prefill(x)
        x, second = self.attending.prefill(x)
        return x, (*first, *second)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One new token ``x`` [b, 1, d] through both layers."""
        x, first = self.recurrent.step(x, state[:2])
        x, second = self.attending.step(x, state[2:])
        return x, (*first, *second)


def naive(module: HybridBlock, x: Tensor) -> Tensor:
    """Compute the same from the naive parts."""
    for layer in (module.recurrent, module.attending):
        normed, mixer = rms_norm.naive(layer.norm_mixer, x), layer.mixer
        if isinstance(mixer, mamba.Mamba):
            x = x + mamba.naive(mixer, normed)
        else:
            x = x + gqa_attention.naive(mixer, normed)
        inner = rms_norm.naive(layer.norm_feed_forward, x)
        x = x + gated_feed_forward.naive(layer.feed_forward, inner)
    return x


def _module(d: int, h: int, g: int, k: int, f: int, s: int, r: int | None, c: int) -> HybridBlock:
    check_positive(d=d)
    return HybridBlock(Config(d, h, g, k, f, s, block_count(d, 16) if r is None else r, c))


def build(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int = 64, f: int = 1792, s: int = 16,
    r: int | None = None, c: int = 16,
) -> tuple[nn.Module, tuple[Tensor, ...]]:  # fmt: skip
    """Return the block and an input ``[b, n, d]``; ``r`` is ceil(d/16) unless given."""
    check_positive(b=b, n=n)
    return _module(d, h, g, k, f, s, r, c), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int = 64, f: int = 1792, s: int = 16,
    r: int | None = None, c: int = 16,
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:  # fmt: skip
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return _module(d, h, g, k, f, s, r, c).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int = 64, f: int = 1792, s: int = 16,
    r: int | None = None, c: int = 16,
) -> tuple[
    Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]
]:  # fmt: skip
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    shapes = ((b, 2 * d, _TAPS_KEPT), (b, 2 * d, s), (b, g, n, k), (b, g, n, k))
    state = tuple(torch.randn(shape) for shape in shapes)
    return _module(d, h, g, k, f, s, r, c).step, (torch.randn(b, 1, d),), state


SPEC = ArchitectureSpec(
    name="hybrid_block",
    title="Hybrid of Mamba and attention, as in Jamba",
    kind="block",
    family="hybrid",
    paper="https://arxiv.org/abs/2403.19887",
    symbols=("b", "n", "d", "h", "g", "k", "f", "s", "r", "c"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "g": 2, "k": 64, "f": 1792, "s": 16, "r": 32,
              "c": 16},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("state_bytes", "layer", "b*n*g*k + b*d*s", "Lieber et al. 2024, section 2",
              ("b", "n", "d", "g", "k", "s"), mode="decode"),
    ),
    gives_up="The attention layer is quadratic still, and its cache grows still: one layer's.",
    constraints=("g divides h", "c == 16"),
    ties={"r": "ceiling(d/16)"},
)  # fmt: skip
