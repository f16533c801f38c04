"""Multi-head latent attention (MLA): keys and values of all heads from one small latent.

DeepSeek-AI 2024, "DeepSeek-V2", https://arxiv.org/abs/2405.04434, section 2.1.2.

Shapes: b batch, n positions, d width, h heads, k head size without position (of values too),
p head size with position (shared by all heads' keys), q rank of the queries, r of the latent.
    x, y       [b, n, d]
    queries    [b, h, n, k + p]
    latent     [b, n, r + p], the normed latent and the shared key with position
    state      the latent of the context

The rotation of the p positional channels is a position scheme of its own and not part of this
layer. In prefill and training values are padded from k to k + p channels, since the fused kernel
takes keys and values of one width. A decode step either expands the latents of the context to
keys and values again, or (``absorbed``) moves the products with the weights that would expand
them to the query and to the output, and attends to the latent itself as one shared head.

No projection carries a bias: d q + q h (k + p) + d (r + p) + 2 r h k + h k d parameters, and q + r
gains of norms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads, split_heads

State = tuple[Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``, ``h`` heads of size ``k`` + ``p``, ranks ``q`` of queries and ``r`` of state."""

    d: int
    h: int
    k: int
    p: int
    q: int
    r: int
    causal: bool = False
    absorbed: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, h=self.h, k=self.k, p=self.p, q=self.q, r=self.r)


class PaddedAttention(nn.Module):
    """Fused attention, values as wide as keys."""

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float | None = None
    ) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)


class LatentAttention(nn.Module):
    """Multi-head latent attention, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        d, h, k = config.d, config.h, config.k
        self.q_down = nn.Linear(d, config.q, bias=False)
        self.q_norm = nn.RMSNorm(config.q, eps=1e-6)
        self.q_up = nn.Linear(config.q, h * (k + config.p), bias=False)
        self.kv_down = nn.Linear(d, config.r + config.p, bias=False)
        self.kv_norm = nn.RMSNorm(config.r, eps=1e-6)
        self.kv_up = nn.Linear(config.r, h * 2 * k, bias=False)
        self.o = nn.Linear(h * k, d, bias=False)
        self.core = PaddedAttention()

    def queries(self, x: Tensor) -> Tensor:
        """Queries of ``x``, ``[b, h, n, k + p]``."""
        return split_heads(self.q_up(self.q_norm(self.q_down(x))), self.config.h)

    def latent(self, x: Tensor) -> Tensor:
        """What the state keeps of ``x``, ``[b, n, r + p]``."""
        content, position = self.kv_down(x).split((self.config.r, self.config.p), dim=-1)
        return torch.cat((self.kv_norm(content), position), dim=-1)

    def expand(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        """Keys ``[b, h, n, k + p]`` of latents, and values with zeros to that width."""
        content, position = torch.split(latent, [self.config.r, self.config.p], dim=-1)
        keys, values = split_heads(self.kv_up(content), self.config.h).chunk(2, dim=-1)
        shared = position.unsqueeze(1).expand(-1, self.config.h, -1, -1)
        return torch.cat((keys, shared), dim=-1), F.pad(values, (0, self.config.p))

    def attend(self, q: Tensor, latent: Tensor, causal: bool) -> Tensor:
        """Output of queries over the expanded latents, ``[b, n, d]``."""
        mixed = self.core(q, *self.expand(latent), causal)[..., : self.config.k]
        y: Tensor = self.o(merge_heads(mixed))
        return y

    def forward(self, x: Tensor) -> Tensor:
        return self.prefill(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the latents."""
        q, latent = self.queries(x), self.latent(x)
        return self.attend(q, latent, self.config.causal and x.shape[1] > 1), (latent,)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Attend from one new token ``x`` [b, 1, d] to the context and itself."""
        q, latent = self.queries(x), torch.cat((state[0], self.latent(x)), dim=1)
        if not self.config.absorbed:
            return self.attend(q, latent, causal=False), (latent,)
        h, k, p = self.config.h, self.config.k, self.config.p
        to_keys, to_values = torch.unflatten(self.kv_up.weight, 0, (h, 2 * k)).chunk(2, dim=1)
        content, position = torch.split(q.transpose(0, 2).squeeze(0), [k, p], dim=-1)  # [h, b, .]
        absorbed = torch.cat((content @ to_keys, position), dim=-1).transpose(0, 1)
        shared, scale = latent.unsqueeze(1), 1 / math.sqrt(k + p)
        # One head with h queries, whose values are its keys: so the fused kernel takes them.
        mixed = self.core(absorbed.unsqueeze(1), shared, shared, causal=False, scale=scale)
        values = mixed[:, 0, :, : self.config.r].transpose(0, 1) @ to_values.transpose(1, 2)
        return self.o(values.transpose(0, 1).flatten(1).unsqueeze(1)), (latent,)


def naive(module: LatentAttention, x: Tensor) -> Tensor:
    """Compute the same one head at a time, keys and values of their own widths."""
    h, k, p = module.config.h, module.config.k, module.config.p
    down = module.kv_down(x)
    content = _norm(module.kv_norm, down[..., :-p])
    compressed = _norm(module.q_norm, module.q_down(x))
    parts = []
    for head in range(h):
        up = module.kv_up.weight[head * 2 * k : (head + 1) * 2 * k]
        keys, values = F.linear(content, up).chunk(2, dim=-1)
        mine = slice(head * (k + p), (head + 1) * (k + p))
        queries = F.linear(compressed, module.q_up.weight[mine])
        scores = torch.einsum("bik,bjk->bij", queries[..., :k], keys)
        scores = scores + torch.einsum("bip,bjp->bij", queries[..., k:], down[..., -p:])
        scores = scores / (k + p) ** 0.5
        if module.config.causal:
            scores = scores + torch.full_like(scores, -torch.inf).triu(1)
        shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
        parts.append(torch.einsum("bij,bjk->bik", shares, values))
    return F.linear(torch.cat(parts, dim=-1), module.o.weight)


def _norm(layer: nn.RMSNorm, x: Tensor) -> Tensor:
    return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * layer.weight


def build(
    *, b: int, n: int, d: int, h: int = 16, k: int = 64, p: int = 32, q: int = 384, r: int = 128,
    causal: bool = False,
) -> tuple[nn.Module, tuple[Tensor, ...]]:  # fmt: skip
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return LatentAttention(Config(d, h, k, p, q, r, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 16, k: int = 64, p: int = 32, q: int = 384, r: int = 128
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    module = LatentAttention(Config(d, h, k, p, q, r, causal=True))
    return module.prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 16, k: int = 64, p: int = 32, q: int = 384, r: int = 128,
    absorbed: bool = False,
) -> tuple[
    Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]
]:  # fmt: skip
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    module = LatentAttention(Config(d, h, k, p, q, r, causal=True, absorbed=absorbed))
    return module.step, (torch.randn(b, 1, d),), (torch.randn(b, n, r + p),)


_V2 = "DeepSeek-AI 2024, section 2.1.2"

SPEC = ArchitectureSpec(
    name="latent_attention",
    title="Multi-head latent attention (MLA)",
    kind="architecture",
    family="attention",
    paper="https://arxiv.org/abs/2405.04434",
    symbols=("b", "n", "d", "h", "k", "p", "q", "r"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 16, "k": 64, "p": 32, "q": 384, "r": 128},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "n**2", _V2, variables=("n",)),
        Claim("steps", "layer", "1", "Vaswani et al. 2017, section 4, table 1", variables=("n",)),
        Claim("peak_bytes", "core", "n", "Dao et al. 2022, theorem 1", variables=("n",)),
        Claim("state_bytes", "layer", "b*n*p + b*n*r", "DeepSeek-AI 2024, table 1", mode="decode"),
    ),
    gives_up="A small state is paid with arithmetic: a step works on r + p channels for each head.",
    options={"causal": (False, True)},
    decode_options={"absorbed": (False, True)},
)
