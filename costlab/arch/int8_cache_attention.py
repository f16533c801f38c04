"""Grouped-query attention that keeps its keys and values as int8, with a scale for c channels.

Sheng et al. 2023, "FlexGen", https://arxiv.org/abs/2303.06865, section 5, quantises the cache in
groups along the channels of a token (there to 4 bits between minimum and maximum; here to 8 bits
symmetrically, each group by its largest magnitude).

Shapes: b batch, n positions, d width, h query heads, g key/value heads, k head size, c channels
that share a scale.
    x, y       [b, n, d]
    state      keys as int8 [b, g, n, k] and their scales [b, g, n, k/c], then values likewise

A step unpacks the whole cache before it attends: the state is small between steps, not within
one. Every mode attends to what the cache holds, a token's own key included, so that steps equal
the whole. The projections are those of entry ``gqa_attention``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.gqa_attention import Config, GQAAttention
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.errors import SizeError
from costlab.i18n import _
from costlab.ops.heads import merge_heads

State = tuple[Tensor, Tensor, Tensor, Tensor]
_LARGEST = 127


def pack(x: Tensor, c: int) -> tuple[Tensor, Tensor]:
    """``x`` [..., k] as int8 [..., k] and its scales [..., k/c]."""
    groups = torch.unflatten(x, -1, (x.shape[-1] // c, c))
    scale = (groups.abs().amax(-1) / _LARGEST).clamp_min(torch.finfo(x.dtype).tiny)
    # In half precision the largest may come out a little above 127.
    steps = (groups / scale.unsqueeze(-1)).round().clamp(-_LARGEST, _LARGEST)
    return steps.to(torch.int8).flatten(-2), scale


def unpack(packed: Tensor, scale: Tensor) -> Tensor:
    """What :func:`pack` packed, to half a step of its scale."""
    count = scale.shape[-1]
    groups = torch.unflatten(packed, -1, (count, packed.shape[-1] // count))
    return (groups * scale.unsqueeze(-1)).flatten(-2)


class Int8CacheAttention(nn.Module):
    """Causal grouped attention over keys and values that went through int8."""

    def __init__(self, config: Config, c: int) -> None:
        super().__init__()
        self.attention = GQAAttention(config)
        self.channels = c

    def keep(self, k: Tensor, v: Tensor) -> State:
        """The state of keys and values [b, g, n, k]."""
        return *pack(k, self.channels), *pack(v, self.channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.prefill(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the packed keys and values."""
        q, k, v = self.attention.project(x)
        return self._attend(q, self.keep(k, v))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Attend from one new token ``x`` [b, 1, d] to the context and itself."""
        q, k, v = self.attention.project(x)
        keys, key_scales, values, value_scales = (
            torch.cat((before, new), dim=2)
            for before, new in zip(state, self.keep(k, v), strict=True)
        )
        return self._attend(q, (keys, key_scales, values, value_scales))

    def _attend(self, q: Tensor, state: State) -> tuple[Tensor, State]:
        mixed = self.attention.core(q, unpack(*state[:2]), unpack(*state[2:]))
        return self.attention.o(merge_heads(mixed)), state


def naive(module: Int8CacheAttention, x: Tensor) -> Tensor:
    """Round channel by channel, then attend one query head at a time."""
    q, k, v = module.attention.project(x)
    k, v = _rounded(k, module.channels), _rounded(v, module.channels)
    shared = module.attention.heads // module.attention.groups
    later = torch.full((x.shape[1], x.shape[1]), -torch.inf, dtype=x.dtype).triu(1)
    parts = []
    for head in range(module.attention.heads):
        keys, values = k[:, head // shared], v[:, head // shared]
        scores = torch.einsum("bik,bjk->bij", q[:, head], keys) / q.shape[-1] ** 0.5 + later
        shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
        parts.append(torch.einsum("bij,bjk->bik", shares, values))
    y: Tensor = module.attention.o(torch.cat(parts, dim=-1))
    return y


def _rounded(x: Tensor, c: int) -> Tensor:
    parts = []
    for part in torch.split(x, c, dim=-1):
        step = part.abs().max(dim=-1, keepdim=True).values / _LARGEST
        parts.append((part / step).detach().round() * step)
    return torch.cat(parts, dim=-1)


def _module(d: int, h: int, g: int, k: int | None, c: int) -> Int8CacheAttention:
    if k is None:
        check_heads(d, h)
        k = d // h
    check_positive(k=k, c=c)
    if k % c:
        raise SizeError(
            _("the head size k must be a multiple of the channels c that share a scale"),
            given=f"k={k}, c={c}",
            allowed="c = " + ", ".join(str(part) for part in range(1, k + 1) if k % part == 0),
        )
    return Int8CacheAttention(Config(d, h, g, k, causal=True), c)


def build(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int | None = None, c: int = 32
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``; ``k`` is d/h unless given."""
    check_positive(b=b, n=n)
    return _module(d, h, g, k, c), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int | None = None, c: int = 32
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return _module(d, h, g, k, c).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, g: int = 2, k: int | None = None, c: int = 32
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the packed state."""
    check_positive(b=b, n=n)
    module = _module(d, h, g, k, c)
    size = module.attention.k.out_features // g
    state = module.keep(torch.randn(b, g, n, size), torch.randn(b, g, n, size))
    return module.step, (torch.randn(b, 1, d),), state


_SHENG = "Sheng et al. 2023, section 5"

SPEC = ArchitectureSpec(
    name="int8_cache_attention",
    title="Grouped-query attention, keys and values in int8",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2303.06865",
    symbols=("b", "n", "d", "h", "g", "k", "c"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "g": 2, "k": 64, "c": 32},
    modes=("forward", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "b*n**2*d", "Vaswani et al. 2017, section 4, table 1"),
        Claim("state_bytes", "layer", "b*g*n", _SHENG, ("b", "g", "n"), mode="decode"),
    ),
    gives_up="Keys and values to half a 127th of their group's largest; unpacking takes time.",
    constraints=("g divides h", "c divides k"),
    ties={"k": "d/h"},
)
