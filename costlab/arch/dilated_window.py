"""Attention within a dilated window: w keys at every (c/w)-th position, so that they reach c far.

Beltagy, Peters and Cohan 2020, "Longformer", https://arxiv.org/abs/2004.05150, section 3.1.

Shapes: b batch, n positions, d width, h heads, k = d/h head size, w window, c block: what the
window reaches over, a = c/w dilation, N = ceil(n/c) c padded length.
    x, y         [b, n, d]
    q, k, v      [b, h, n, k]
    streams      [b, h, N, k]: positions 0, a, 2a, ..., then 1, a+1, ..., and so on
    state        ring buffers of keys and values, each [b, h, c, k], and how many tokens were
                 seen [1]

The window is w keys on each side of the query, so 2w+1; causal: w keys, the query's own
included. Laid out stream by stream it is a plain window within each stream, in blocks of w
queries. With a = 1 it is ``sliding_window``, and a dilation costs nothing: c is in no leading
term. The four projections carry no bias: 4 d**2 parameters. n need not be a multiple of c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.errors import SizeError
from costlab.i18n import _
from costlab.ops.heads import merge_heads, split_heads
from costlab.ops.windows import block_count, block_spans, blocks, pad_positions

State = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` over ``h`` heads, ``w`` keys that reach over ``c`` positions; ``causal``."""

    d: int
    h: int
    w: int
    c: int
    causal: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(w=self.w, c=self.c)
        if self.c % self.w:
            raise SizeError(
                _("the reach c must be a multiple of the window w: the dilation is c/w"),
                given=f"c={self.c}, w={self.w}",
                allowed=f"c = {self.w}, {2 * self.w}, {3 * self.w}, ...",
            )


class DilatedCore(nn.Module):
    """Window attention in blocks within each stream of every a-th position."""

    def __init__(self, w: int, c: int, causal: bool) -> None:
        super().__init__()
        self.w, self.c, self.causal = w, c, causal

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        (batch, heads, n, width), w, dilation = q.shape, self.w, self.c // self.w
        after = 0 if self.causal else 1
        keys, values = (block_spans(self._streams(x), w, 1, after) for x in (k, v))
        mixed = F.scaled_dot_product_attention(
            blocks(self._streams(q), w).flatten(0, 1), keys.flatten(0, 1), values.flatten(0, 1),
            attn_mask=self._mask(n, q.device)[None],
        )  # fmt: skip
        mixed = mixed.reshape(batch, heads, dilation, -1, width).transpose(2, 3)
        return mixed.flatten(2, 3)[:, :, :n]

    def _streams(self, x: Tensor) -> Tensor:
        """Lay ``x`` [b, h, n, k] out stream by stream, ``[b, h, N, k]``."""
        n = x.shape[2]
        padded = pad_positions(x, 0, block_count(n, self.c) * self.c - n)
        return torch.unflatten(padded, 2, (-1, self.c // self.w)).transpose(2, 3).flatten(2, 3)

    def _mask(self, n: int, device: torch.device) -> Tensor:
        """True where a query may see a key of its span, ``[N/w, w, span]``.

        Blocks are numbered through all streams; a span that goes past an end of its stream meets
        keys of another one, which are hidden like those past the end of the sequence.
        """
        w, dilation, count = self.w, self.c // self.w, block_count(n, self.c)
        query = torch.arange(w, device=device)[:, None]
        key = torch.arange(-w, w if self.causal else 2 * w, device=device)
        distance = key - query
        near = (distance > -w) & (distance <= 0) if self.causal else distance.abs() <= w
        place = key + w * torch.arange(count, device=device)[:, None]
        position = place * dilation + torch.arange(dilation, device=device)[:, None, None]
        exists = (place >= 0) & (place < count * w) & (position < n)
        return near & exists.flatten(0, 1)[:, None, :]

    def step(self, q: Tensor, state: State) -> Tensor:
        """One query over the stored keys of its stream, [b, h, 1, k]; its own is stored already."""
        keys, values, seen = state
        dilation = self.c // self.w
        slots = (seen - 1) % dilation + dilation * torch.arange(self.w, device=q.device)
        filled = (slots < seen)[None]
        return F.scaled_dot_product_attention(
            q, keys.index_select(2, slots), values.index_select(2, slots), attn_mask=filled
        )


class DilatedWindow(nn.Module):
    """Multi-head self-attention within a dilated window, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = DilatedCore(config.w, config.c, config.causal)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of ``x``, each ``[b, h, n, k]``."""
        h = self.heads
        return split_heads(self.q(x), h), split_heads(self.k(x), h), split_heads(self.v(x), h)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.o(merge_heads(self.core(*self.project(x))))
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last c keys and values, position t in slot t % c."""
        q, k, v = self.project(x)
        y = self.o(merge_heads(self.core(q, k, v)))
        n = x.shape[1]
        seen = torch.full((1,), n, dtype=torch.int64, device=x.device)
        return y, (self._ring(k, n), self._ring(v, n), seen)

    def _ring(self, x: Tensor, n: int) -> Tensor:
        c = self.core.c
        if n < c:
            return pad_positions(x, 0, c - n)
        return x[:, :, -c:].roll(n % c, 2)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]; the state is overwritten in place."""
        keys, values, seen = state
        q, k, v = self.project(x)
        slot = seen % self.core.c
        keys.index_copy_(2, slot, k)
        values.index_copy_(2, slot, v)
        after = (keys, values, seen + 1)
        return self.o(merge_heads(self.core.step(q, after))), after


def naive(module: DilatedWindow, x: Tensor) -> Tensor:
    """Compute the same from all n x n scores, most of them masked."""
    q, k, v = module.project(x)
    scores = torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5
    w, c, causal = module.core.w, module.core.c, module.core.causal
    for i in range(x.shape[1]):
        for j in range(x.shape[1]):
            reached = i - c < j <= i if causal else abs(i - j) <= c
            if not reached or (i - j) % (c // w):
                scores[:, :, i, j] = -torch.inf
    shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
    mixed = torch.einsum("bhij,bhjk->bihk", shares, v).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def build(
    *, b: int, n: int, d: int, h: int = 8, w: int = 64, c: int = 1024, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return DilatedWindow(Config(d, h, w, c, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, w: int = 64, c: int = 1024
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return DilatedWindow(Config(d, h, w, c, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, w: int = 64, c: int = 1024
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    module = DilatedWindow(Config(d, h, w, c, causal=True))
    held = (b, h, c, d // h)
    state = (torch.randn(held), torch.randn(held), torch.full((1,), n, dtype=torch.int64))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Beltagy et al. 2020, section 3.1"

SPEC = ArchitectureSpec(
    name="dilated_window",
    title="Dilated window attention, every (c/w)-th key",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2004.05150",
    symbols=("b", "n", "d", "h", "w", "c"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "w": 64, "c": 1024},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n*w*d", _PAPER, conditions=("w fixed",)),
        Claim("peak_bytes", "core", "n", _PAPER, ("n",), ("w fixed",)),
        Claim("state_bytes", "layer", "b*c*d", _PAPER, mode="decode"),
    ),
    gives_up="Positions of another remainder by c/w are never seen: other heads must be plain.",
    constraints=("h divides d", "w divides c"),
    options={"causal": (False, True)},
)
