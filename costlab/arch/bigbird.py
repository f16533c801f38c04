"""BigBird: a ring of blocks, random blocks, and global tokens that see and are seen by all.

Zaheer et al. 2020, "Big Bird", https://arxiv.org/abs/2007.14062, the block form of appendix D.

Shapes: b batch, n positions, d width, h heads, k = d/h head size, c block, r random blocks,
G global tokens, m = ceil(n/c) blocks.
    x, y                [b, n, d]; the first G positions are the global tokens
    q, k, v             [b, h, n, k]
    drawn               [h m r], which blocks each block of each head sees at random
    seen                [h m, 1, 3c + rc + G], which of its keys a block sees
    keys of a block     [b, h, m, 3c + rc + G, k]

A query sees its own block and both neighbours, of which the first follows the last; r blocks
drawn apart from these when the module is made, for training and evaluation alike; and the global
tokens, which see all. A key that would be met twice is hidden where it is met again, and where
fewer than r blocks are left, all of them are seen. The published code has G = 2c, the first block
and the last: the same as the first two blocks of the ring, one block on. The four projections
carry no bias: 4 d**2 parameters. n need not be a multiple of c.
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
from costlab.ops.heads import merge_heads, split_heads
from costlab.ops.windows import block_count, blocks, pad_positions


@dataclass(frozen=True, slots=True)
class Config:
    """Length ``n``, width ``d``, heads ``h``, block ``c``, ``r`` random blocks, ``G`` tokens."""

    n: int
    d: int
    h: int
    c: int
    r: int
    G: int
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(n=self.n, c=self.c, r=self.r, G=self.G)
        if self.n < self.G:
            raise SizeError(
                _("the global tokens must be some of the n positions"),
                given=f"G={self.G}, n={self.n}",
                allowed=f"G = 1, ..., {self.n}",
            )


class RingCore(nn.Module):
    """Blocks over their ring, their random blocks and the global tokens; the latter over all."""

    drawn: Tensor
    seen: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("drawn", torch.empty(0, dtype=torch.int64))
        self.register_buffer("seen", torch.empty(0, dtype=torch.bool))
        self.place(*random_blocks(config))

    def place(self, chosen: Tensor, exists: Tensor) -> None:
        """Let block i of head g see the blocks ``chosen[g, i]`` [h, m, r] that ``exists`` marks."""
        heads, count, _ = chosen.shape
        n, c, first = self.config.n, self.config.c, self.config.G
        device = chosen.device
        inside = torch.arange(c, device=device)
        ring = _ring(count, device)[..., None] * c + inside
        apart = torch.tensor((count > 1, True, count > 2), device=device)[:, None]
        near = (apart & (ring >= first) & (ring < n)).flatten(1).expand(heads, -1, -1)
        far = chosen[..., None] * c + inside
        far = (exists[..., None] & (far >= first) & (far < n)).flatten(2)
        shared = torch.ones(heads, count, first, dtype=torch.bool, device=device)
        self.seen = torch.cat((near, far, shared), dim=-1).flatten(0, 1)[:, None]
        self.drawn = (chosen + count * torch.arange(heads, device=device)[:, None, None]).flatten()

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        first, (_, heads, n, _) = self.config.G, q.shape
        near = F.scaled_dot_product_attention(
            blocks(q, self.config.c).flatten(1, 2), self._keys(k), self._keys(v), self.seen[None]
        )
        near = torch.unflatten(near, 1, (heads, -1)).flatten(2, 3)[:, :, first:n]
        full = F.scaled_dot_product_attention(q[:, :, :first], k, v)
        return torch.cat((full, near), dim=2)

    def _keys(self, x: Tensor) -> Tensor:
        """What each block meets of ``x`` [b, h, n, k]: [b, h m, 3c + rc + G, k]."""
        c, (batch, heads, n, width) = self.config.c, x.shape
        count = block_count(n, c)
        padded = pad_positions(x, 0, count * c - n)
        around = torch.cat((padded[:, :, -c:], padded, padded[:, :, :c]), dim=2)
        ring = around.unfold(2, 3 * c, c).transpose(-2, -1)
        far = padded.view(batch, heads * count, c, width).index_select(1, self.drawn)
        far = far.view(batch, heads, count, self.config.r * c, width)
        shared = x[:, :, None, : self.config.G].expand(-1, -1, count, -1, -1)
        return torch.cat((ring, far, shared), dim=3).flatten(1, 2)


def _ring(count: int, device: torch.device) -> Tensor:
    """The blocks before, at and after each of ``count``, ``[count, 3]``."""
    around = torch.arange(-1, 2, device=device)
    return (torch.arange(count, device=device)[:, None] + around) % count


def random_blocks(config: Config) -> tuple[Tensor, Tensor]:
    """Blocks outside each block's ring and not global throughout, ``[h, m, r]``, and which exist.

    A sorted draw with repetition plus 0, 1, ..., r-1 has no repetition, and needs nothing of m x m.
    """
    count, whole = block_count(config.n, config.c), config.G // config.c
    places = torch.rand(config.h, count, config.r).sort().values
    taken = _ring(count, places.device).sort().values
    taken = torch.where(taken >= whole, taken, count + config.r)
    left = count - whole - (taken < count).sum(-1)[:, None]
    drawn = (places * (left - config.r + 1).clamp(min=1)).long()
    drawn = drawn + torch.arange(config.r, device=places.device)
    exists = drawn < left
    drawn = drawn + whole
    for column in range(3):
        drawn = drawn + (drawn >= taken[:, column, None])
    return drawn.clamp(max=count - 1), exists


class BigBird(nn.Module):
    """Multi-head attention over ring, random and global keys, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = RingCore(config)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of ``x``, each ``[b, h, n, k]``."""
        h = self.heads
        return split_heads(self.q(x), h), split_heads(self.k(x), h), split_heads(self.v(x), h)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.o(merge_heads(self.core(*self.project(x))))
        return y


def naive(module: BigBird, x: Tensor) -> Tensor:
    """Compute the same from all n x n scores, those outside the pattern masked."""
    q, k, v = module.project(x)
    scores = torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5
    for head in range(module.heads):
        for i in range(x.shape[1]):
            hidden = [j for j in range(x.shape[1]) if not _sees(module.core, head, i, j)]
            scores[:, head, i, hidden] = -torch.inf
    shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
    mixed = torch.einsum("bhij,bhjk->bihk", shares, v).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def _sees(core: RingCore, head: int, i: int, j: int) -> bool:
    """The pattern by its definition, from the drawn blocks alone."""
    config = core.config
    count, at, to = block_count(config.n, config.c), i // config.c, j // config.c
    drawn = core.drawn.view(config.h, count, config.r)[head, at] - head * count
    near = (at - to) % count in (0, 1, count - 1)
    return near or min(i, j) < config.G or bool((drawn == to).any())


def build(
    *, b: int, n: int, d: int, h: int = 8, c: int = 64, r: int = 3, G: int = 128
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module for ``n`` positions and an input ``[b, n, d]``.

    Raises:
        SizeError: there are more global tokens than positions.
    """
    check_positive(b=b)
    return BigBird(Config(n, d, h, c, r, G)), (torch.randn(b, n, d),)


_PAPER = "Zaheer et al. 2020, section 2 and appendix D"
_FIXED = ("c fixed", "r fixed", "G fixed")

SPEC = ArchitectureSpec(
    name="bigbird",
    title="BigBird, a ring, random blocks and global tokens",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2007.14062",
    symbols=("b", "n", "d", "h", "c", "r", "G"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "c": 64, "r": 3, "G": 128},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "core", "n", _PAPER, ("n",), _FIXED),
        Claim("peak_bytes", "core", "n", _PAPER, ("n",), _FIXED),
    ),
    gives_up="The farthest vector, which full attention finds in one layer, takes about n layers.",
    constraints=("h divides d", "c <= n", "G <= n"),
)
