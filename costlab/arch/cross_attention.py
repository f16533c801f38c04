"""Cross-attention: queries of one sequence over keys and values of another.

Vaswani et al. 2017, "Attention is all you need", https://arxiv.org/abs/1706.03762, section 3.2.3:
the decoder's second attention, which reads the encoder's output.

Shapes: b batch, n positions of the queries, m of the source, d width, h heads, k = d/h head size.
    x, y       [b, n, d]
    source     [b, m, d]
    q          [b, h, n, k]
    k, v       [b, h, m, k]
    state      keys and values of the source, each [b, h, m, k]; decoding does not change it

The four projections carry no bias: 4 d**2 parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.flash_attention import FusedAttention
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads, split_heads

State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` of both sequences over ``h`` heads; ``bias`` of projections."""

    d: int
    h: int
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)


class CrossAttention(nn.Module):
    """Attention from ``x`` to ``source`` with the fused core, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = FusedAttention(causal=False)

    def read(self, source: Tensor) -> State:
        """Keys and values of ``source``, each ``[b, h, m, k]``."""
        return split_heads(self.k(source), self.heads), split_heads(self.v(source), self.heads)

    def attend(self, x: Tensor, state: State) -> Tensor:
        """What ``x`` finds in the keys and values of a source, ``[b, n, d]``."""
        y: Tensor = self.o(merge_heads(self.core(split_heads(self.q(x), self.heads), *state)))
        return y

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        return self.attend(x, self.read(source))

    def prefill(self, x: Tensor, source: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the keys and values of the source."""
        state = self.read(source)
        return self.attend(x, state), state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Attend from one new token ``x`` [b, 1, d]; the source is not projected again."""
        return self.attend(x, state), state


def naive(module: CrossAttention, x: Tensor, source: Tensor) -> Tensor:
    """Compute the same with every score written out."""
    q, (k, v) = split_heads(module.q(x), module.heads), module.read(source)
    scores = torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5
    shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
    mixed = torch.einsum("bhij,bhjk->bihk", shares, v).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def build(*, b: int, n: int, m: int, d: int, h: int = 8) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and its inputs ``[b, n, d]`` and ``[b, m, d]``."""
    check_positive(b=b, n=n, m=m)
    return CrossAttention(Config(d, h)), (torch.randn(b, n, d), torch.randn(b, m, d))


def build_prefill(
    *, b: int, n: int, m: int, d: int, h: int = 8
) -> tuple[Callable[[Tensor, Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens over a source of ``m``, and its inputs."""
    check_positive(b=b, n=n, m=m)
    inputs = (torch.randn(b, n, d), torch.randn(b, m, d))
    return CrossAttention(Config(d, h)).prefill, inputs


def build_decode(
    *, b: int, n: int, m: int, d: int, h: int = 8
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n, m=m)
    module = CrossAttention(Config(d, h))
    state = (torch.randn(b, h, m, d // h), torch.randn(b, h, m, d // h))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Vaswani et al. 2017, section 3.2.3"

SPEC = ArchitectureSpec(
    name="cross_attention",
    title="Cross-attention, decoder to encoder",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/1706.03762",
    symbols=("b", "n", "m", "d", "h"),
    defaults={"b": 1, "n": 1024, "m": 1024, "d": 512, "h": 8},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n*m*d", _PAPER),
        Claim("steps", "layer", "1", _PAPER, variables=("n", "m")),
        Claim("peak_bytes", "core", "n", "Dao et al. 2022, theorem 1", variables=("n",)),
        Claim("state_bytes", "layer", "b*m*d", _PAPER, mode="decode"),
    ),
    gives_up="Every query reads the whole source, whose keys stay in memory while decoding.",
    constraints=("h divides d",),
)
