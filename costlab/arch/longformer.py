"""Longformer: a window on both sides, and a few global tokens that see and are seen by all.

Beltagy, Peters and Cohan 2020, "Longformer", https://arxiv.org/abs/2004.05150.

Shapes: b batch, n positions, d width, h heads, k = d/h head size, w window, G global tokens.
    x, y                [b, n, d]; the first G positions are the global tokens
    q, k, v             [b, h, n, k], of the window
    gq; gk, gv          [b, h, G, k]; [b, h, n, k], projections of the global tokens' own
    keys of a block     [b, h, ceil(n/w), 3w + G, k]

A query sees w keys on each side and the global tokens by the first projections; the G queries
see all positions by the second, whose keys and values are needed at every position. Without
biases: 7 d**2 parameters. Blocks of w queries see 3w + G keys each; n need not be a multiple of w.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.errors import SizeError
from costlab.i18n import _
from costlab.ops.blocked_attention import window_attention
from costlab.ops.heads import merge_heads, split_heads


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` over ``h`` heads, window ``w``, ``G`` global tokens; ``bias`` of projections."""

    d: int
    h: int
    w: int
    G: int
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(w=self.w, G=self.G)


class GlobalCore(nn.Module):
    """Window attention with shared keys; the rows of the global tokens are attended in full."""

    def __init__(self, w: int, global_tokens: int) -> None:
        super().__init__()
        self.w = w
        self.global_tokens = global_tokens

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, gq: Tensor, gk: Tensor, gv: Tensor
    ) -> Tensor:
        near = window_attention(q, k, v, self.w, causal=False, shared=self.global_tokens)
        full = F.scaled_dot_product_attention(gq, gk, gv)
        return torch.cat((full, near[:, :, self.global_tokens :]), dim=2)


class Longformer(nn.Module):
    """Multi-head attention of window and global tokens, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads, self.global_tokens = config.d, config.h, config.G
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.gq = nn.Linear(d, d, bias=config.bias)
        self.gk = nn.Linear(d, d, bias=config.bias)
        self.gv = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = GlobalCore(config.w, config.G)

    def project(self, x: Tensor) -> tuple[Tensor, ...]:
        """The six operands of the core."""
        # Laid out here, because torch's product lays out several rows per sequence but not one;
        # where every token is global too, so that it is one program for each number of them.
        first = x.narrow(1, 0, self.global_tokens).clone(memory_format=torch.contiguous_format)
        parts = (self.q(x), self.k(x), self.v(x), self.gq(first), self.gk(x), self.gv(x))
        return tuple(split_heads(part, self.heads) for part in parts)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.o(merge_heads(self.core(*self.project(x))))
        return y


def naive(module: Longformer, x: Tensor) -> Tensor:
    """Compute the same query by query, over the keys that it sees."""
    q, k, v, gq, gk, gv = module.project(x)
    n, (w, first) = x.shape[1], (module.core.w, module.global_tokens)
    rows = []
    for i in range(n):
        if i < first:
            rows.append(_mix(gq[:, :, i], gk, gv))
            continue
        seen = [j for j in range(n) if j < first or abs(i - j) <= w]
        rows.append(_mix(q[:, :, i], k[:, :, seen], v[:, :, seen]))
    return F.linear(torch.stack(rows, dim=1).flatten(2), module.o.weight, module.o.bias)


def _mix(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = torch.einsum("bhk,bhjk->bhj", query, keys) / query.shape[-1] ** 0.5
    shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
    return torch.einsum("bhj,bhjk->bhk", shares, values)


def build(
    *, b: int, n: int, d: int, h: int = 8, w: int = 256, G: int = 1
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]`` of which the first ``G`` tokens are global.

    Raises:
        SizeError: there are more global tokens than positions.
    """
    check_positive(b=b, n=n, G=G)
    if n < G:
        raise SizeError(
            _("the global tokens must be some of the n positions"),
            given=f"G={G}, n={n}",
            allowed=f"G = 1, ..., {n}",
        )
    return Longformer(Config(d, h, w, G)), (torch.randn(b, n, d),)


_PAPER = "Beltagy et al. 2020, section 3.1"

SPEC = ArchitectureSpec(
    name="longformer",
    title="Longformer, a window and global tokens",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2004.05150",
    symbols=("b", "n", "d", "h", "w", "G"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "w": 256, "G": 1},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "core", "b*n*w*d", _PAPER, conditions=("w fixed", "G fixed")),
        Claim("peak_bytes", "core", "n", _PAPER, ("n",), ("w fixed", "G fixed")),
    ),
    gives_up="What is neither near nor global is two layers away, through G tokens of width d.",
    constraints=("h divides d", "w <= n", "G <= n"),
)
