"""Performer: softmax attention estimated by positive random features (FAVOR+).

Choromanski et al. 2021, "Rethinking Attention with Performers", https://arxiv.org/abs/2009.14794.

    exp(q k) = E[phi(q) phi(k)],  phi(x) = exp(w x - |x|**2 / 2),  q and k scaled by k**(-1/4)

Shapes: b batch, n positions, d width, h heads, k = d/h head size, r features, c chunk.
    x, y         [b, n, d]
    q, k, v      [b, h, n, k]
    w            [r, k], the same for all heads; k rows at a time are orthogonal
    features     [b, h, n, r]
    state        sums over keys: phi(k)^T v [b, h, r, k] and phi(k) [b, h, 1, r]

A factor per query falls out of the quotient, so features of queries are taken relative to their
largest; those of keys are bounded by exp(|w|**2 / 2) and need no such care. Published code adds
1e-4 to each feature, which is not in the paper's estimate and not here. Causal sums go over
chunks, as in linear attention. The four projections carry no bias: 4 d**2 parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch import linear_attention
from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.linear_attention import KernelCore, LinearAttention, State
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` over ``h`` heads, ``r`` features, chunk ``c`` (causal only)."""

    d: int
    h: int
    r: int
    c: int
    causal: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(r=self.r, c=self.c)


def orthogonal_rows(rows: int, width: int) -> Tensor:
    """Normal vectors ``[rows, width]`` of which every ``width`` in turn are orthogonal."""
    squares = torch.linalg.qr(torch.randn((rows + width - 1) // width, width, width)).Q
    lengths = torch.randn(rows, width).norm(dim=1, keepdim=True)
    found: Tensor = squares.mT.flatten(0, 1)[:rows] * lengths
    return found


class FavorCore(KernelCore):
    """Sums over keys of random features."""

    directions: Tensor  # [r, k]

    def __init__(self, config: Config) -> None:
        super().__init__(config.c, config.causal)
        self.register_buffer("directions", orthogonal_rows(config.r, config.d // config.h))

    def features(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        scale = q.shape[-1] ** -0.25
        along_q = (q * scale) @ self.directions.t()
        k = k * scale
        along_k = k @ self.directions.t()
        largest = along_q.detach().amax(-1, keepdim=True)
        half = k.square().sum(-1, keepdim=True) / 2
        return (along_q - largest).exp_(), (along_k - half).exp_()


class Performer(LinearAttention):
    """Multi-head attention by random features, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__(
            linear_attention.Config(config.d, config.h, config.c, config.causal, config.bias)
        )
        self.core = FavorCore(config)


def naive(module: Performer, x: Tensor) -> Tensor:
    """Compute the same in the quadratic form, from the estimate of every pair's exp(q k)."""
    q, k, v = module.project(x)
    core = module.core
    assert isinstance(core, FavorCore)
    q, k = q / q.shape[-1] ** 0.25, k / k.shape[-1] ** 0.25
    weights = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for direction in core.directions:
        of_q = torch.exp((q * direction).sum(-1) - q.pow(2).sum(-1) / 2)
        of_k = torch.exp((k * direction).sum(-1) - k.pow(2).sum(-1) / 2)
        weights = weights + of_q[..., :, None] * of_k[..., None, :]
    if core.causal:
        weights = weights * torch.ones_like(weights).tril()
    shares = weights / weights.sum(-1, keepdim=True)
    mixed = torch.einsum("bhij,bhjk->bihk", shares, v).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def build(
    *, b: int, n: int, d: int, h: int = 8, r: int = 256, c: int = 64, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``; ``c`` matters only when causal."""
    check_positive(b=b, n=n)
    return Performer(Config(d, h, r, c, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, r: int = 256, c: int = 64
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return Performer(Config(d, h, r, c, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, r: int = 256, c: int = 64
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state.

    The state is positive, as sums of features are.
    """
    check_positive(b=b, n=n)
    module = Performer(Config(d, h, r, c, causal=True))
    state = (n * torch.rand(b, h, r, d // h), n * torch.rand(b, h, 1, r))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Choromanski et al. 2021, section 2.2"

SPEC = ArchitectureSpec(
    name="performer",
    title="Performer, random features (FAVOR+)",
    kind="architecture",
    family="linear attention",
    paper="https://arxiv.org/abs/2009.14794",
    symbols=("b", "n", "d", "h", "r", "c"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "r": 256, "c": 64},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n*r*d", _PAPER, ("b", "n", "r", "d"), ("c fixed",)),
        Claim("peak_bytes", "core", "n", _PAPER, variables=("n",)),
        Claim("state_bytes", "layer", "1", _PAPER, variables=("n",), mode="decode"),
    ),
    gives_up="The softmax is an estimate, whose error falls with the square root of r features.",
    constraints=("h divides d",),
    options={"causal": (False, True)},
)
