"""Linear attention: the softmax replaced by the feature map phi(x) = elu(x) + 1.

Katharopoulos et al. 2020, "Transformers are RNNs", https://arxiv.org/abs/2006.16236;
chunk form of Hua et al. 2022, https://arxiv.org/abs/2202.10447.

    y_i = phi(q_i) S / (phi(q_i) z),  S = sum_j phi(k_j)^T v_j,  z = sum_j phi(k_j),

over all j, or j <= i when causal. Causal, the sequence is cut into chunks of c positions: within
a chunk all pairs are computed, earlier chunks enter through the prefix sums of their S and z.

Shapes: b batch, n positions, d width, h heads, k = d/h head size, c chunk, m = ceil(n/c) chunks.
    x, y       [b, n, d]
    q, k, v    [b, h, n, k], in chunks [b, h, m, c, k]
    state      S [b, h, k, k] and z [b, h, 1, k]

The four projections carry no bias: 4 d**2 parameters. n need not be a multiple of c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.heads import merge_heads, split_heads
from costlab.ops.windows import blocks

State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` over ``h`` heads, chunk ``c`` (causal only), ``bias`` of projections."""

    d: int
    h: int
    c: int
    causal: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(c=self.c)


class KernelCore(nn.Module):
    """Attention by sums over keys; returns ``y`` and, when asked or given a state, the state."""

    def __init__(self, c: int, causal: bool) -> None:
        super().__init__()
        self.c = c
        self.causal = causal

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        state: State | None = None,
        keep_state: bool = False,
    ) -> tuple[Tensor, State | None]:
        q, k = self.features(q, k)
        if state is not None:
            return self._step(q, k, v, state)
        if self.causal:
            return self._chunks(q, k, v, keep_state)
        summary, total = k.transpose(-2, -1) @ v, k.sum(-2, keepdim=True)
        return (q @ summary) / (q * total).sum(-1, keepdim=True), None

    def features(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """The positive features of queries and keys."""
        return F.elu(q) + 1, F.elu(k) + 1

    def _step(self, q: Tensor, k: Tensor, v: Tensor, state: State) -> tuple[Tensor, State]:
        summary, total = state[0] + k.transpose(-2, -1) @ v, state[1] + k
        return (q @ summary) / (q * total).sum(-1, keepdim=True), (summary, total)

    def _chunks(
        self, q: Tensor, k: Tensor, v: Tensor, keep_state: bool
    ) -> tuple[Tensor, State | None]:
        n = q.shape[-2]
        q, k, v = blocks(q, self.c), blocks(k, self.c), blocks(v, self.c)
        summary, total = k.transpose(-2, -1) @ v, k.sum(-2, keepdim=True)
        # The sum over strictly earlier chunks.
        summary_before = summary.cumsum(2).sub_(summary)
        total_before = total.cumsum(2).sub_(total)
        weights = (q @ k.transpose(-2, -1)).tril_()
        mixed = (q @ summary_before).add_(weights @ v)
        norm = (q * total_before).sum(-1, keepdim=True).add_(weights.sum(-1, keepdim=True))
        # Padded queries, whose norm is 0, are cut off before the division.
        y = mixed.flatten(2, 3)[:, :, :n] / norm.flatten(2, 3)[:, :, :n]
        if not keep_state:
            return y, None
        last_summary = summary_before[:, :, -1] + summary[:, :, -1]
        return y, (last_summary, total_before[:, :, -1] + total[:, :, -1])


class LinearAttention(nn.Module):
    """Multi-head linear self-attention, projections included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.q = nn.Linear(d, d, bias=config.bias)
        self.k = nn.Linear(d, d, bias=config.bias)
        self.v = nn.Linear(d, d, bias=config.bias)
        self.o = nn.Linear(d, d, bias=config.bias)
        self.core = KernelCore(config.c, config.causal)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of ``x``, each ``[b, h, n, k]``."""
        h = self.heads
        return split_heads(self.q(x), h), split_heads(self.k(x), h), split_heads(self.v(x), h)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.o(merge_heads(self.core(*self.project(x))[0]))
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the sums over all positions."""
        mixed, state = self.core(*self.project(x), keep_state=True)
        return self.o(merge_heads(mixed)), state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]."""
        mixed, state = self.core(*self.project(x), state)
        return self.o(merge_heads(mixed)), state


def naive(module: LinearAttention, x: Tensor) -> Tensor:
    """Compute the same in the quadratic form, from the weights of all pairs."""
    q, k, v = module.project(x)
    q = torch.where(q > 0, q + 1, q.exp())
    k = torch.where(k > 0, k + 1, k.exp())
    weights = torch.einsum("bhik,bhjk->bhij", q, k)
    if module.core.causal:
        weights = weights * torch.ones_like(weights).tril()
    shares = weights / weights.sum(-1, keepdim=True)
    mixed = torch.einsum("bhij,bhjk->bihk", shares, v).flatten(2)
    return F.linear(mixed, module.o.weight, module.o.bias)


def build(
    *, b: int, n: int, d: int, h: int = 8, c: int = 64, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``; ``c`` matters only when causal."""
    check_positive(b=b, n=n)
    return LinearAttention(Config(d, h, c, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, c: int = 64
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return LinearAttention(Config(d, h, c, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, c: int = 64
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state.

    The state is positive, as sums of features are.
    """
    check_positive(b=b, n=n)
    module = LinearAttention(Config(d, h, c, causal=True))
    k = d // h
    state = (n * torch.rand(b, h, k, k), n * torch.rand(b, h, 1, k))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Katharopoulos et al. 2020, section 3.2"

SPEC = ArchitectureSpec(
    name="linear_attention",
    title="Linear attention, elu + 1",
    kind="architecture",
    family="linear attention",
    paper="https://arxiv.org/abs/2006.16236",
    symbols=("b", "n", "d", "h", "c"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "c": 64},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "n", _PAPER, variables=("n",)),
        Claim("peak_bytes", "core", "n", _PAPER, variables=("n",)),
        Claim(
            "state_bytes",
            "layer",
            "1",
            "Katharopoulos et al. 2020, section 3.4",
            variables=("n",),
            mode="decode",
        ),
    ),
    gives_up="No softmax: all of the past is one k x k sum per head, and weights stay spread out.",
    constraints=("h divides d",),
    options={"causal": (False, True)},
)
