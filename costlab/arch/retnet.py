"""RetNet: attention without softmax, whose weights fall by a fixed factor per step of distance.

Sun et al. 2023, "Retentive network", https://arxiv.org/abs/2307.08621, chunkwise form.

    y_i = sum over j <= i of g**(i - j) (q_i k_j) v_j,  g = 1 - 2**(-5 - head)

Shapes: b batch, n positions, d width, h heads, k head size, c chunk, m = ceil(n/c) chunks.
    x, y       [b, n, d]
    q, k       [b, h, n, k], turned by their positions, in chunks [b, h, m, c, k]
    v          [b, h, n, 2k]
    state      the decayed sum of k^T v, [b, h, k, 2k], and how many tokens were seen [1]

Within a chunk all pairs are computed; one sum per chunk is carried to the next. Each head's
output is normalised (a group norm), gated by swish(x W), and projected: 8 d h k parameters.
n need not be a multiple of c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_even, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.carried import carry
from costlab.ops.heads import merge_heads, split_heads
from costlab.ops.rotary import Scaling, frequencies, rotate
from costlab.ops.windows import block_count, blocks

State = tuple[Tensor, Tensor]
_EPS = 1e-5


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``, heads ``h`` of size ``k`` (values 2k), chunk ``c``."""

    d: int
    h: int
    k: int
    c: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, h=self.h, c=self.c)
        check_even(k=self.k)


def _precise(dtype: torch.dtype) -> torch.dtype:
    """What decays and angles are computed in: powers of either need more than 16 bits."""
    return torch.float64 if dtype == torch.float64 else torch.float32


class RetentionCore(nn.Module):
    """Decayed sums over keys; returns ``y`` and the sum after the last position."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.c = config.c

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, before: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        (_, heads, n, _), c = q.shape, self.c
        head = torch.arange(heads, dtype=_precise(q.dtype), device=q.device)[:, None, None, None]
        decay = torch.log1p(-(2.0 ** (-5 - head)))
        if before is not None:
            after = before * decay[:, 0].exp().to(q.dtype) + k.mT @ v
            return q @ after, after
        q, k, v = blocks(q, c), blocks(k, c), blocks(v, c)
        place = torch.arange(c, device=q.device)[:, None]
        added = ((k * (decay * (c - 1 - place)).exp().to(k.dtype)).mT @ v).transpose(1, 2)
        whole = (decay[:, 0] * c).exp().to(q.dtype).expand(1, added.shape[1], -1, -1, -1)
        carried = carry(added, whole)
        y = q @ carried[:, :-1].transpose(1, 2) * (decay * (place + 1)).exp().to(q.dtype)
        distance = place - place.T
        fallen = (decay * distance).masked_fill(distance < 0, -torch.inf).exp_().to(q.dtype)
        y = (y + (q @ k.mT * fallen) @ v).flatten(2, 3)[:, :, :n]
        # The last sum has decayed over the padding too.
        more = block_count(n, c) * c - n
        return y, carried[:, -1] * (decay[:, 0] * -more).exp().to(q.dtype)


class RetNet(nn.Module):
    """Multi-scale retention, projections, norm and gate included."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, self.heads, self.k = config.d, config.h, config.k
        width = config.h * config.k
        self.q = nn.Linear(d, width, bias=False)
        self.key = nn.Linear(d, width, bias=False)
        self.v = nn.Linear(d, 2 * width, bias=False)
        self.gate = nn.Linear(d, 2 * width, bias=False)
        self.o = nn.Linear(2 * width, d, bias=False)
        self.core = RetentionCore(config)

    def _run(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        h, n = self.heads, x.shape[1]
        seen = torch.zeros(1, dtype=torch.int64, device=x.device) if state is None else state[1]
        speed = frequencies(self.k, 10000.0, Scaling(), n, device=x.device)
        place = (seen + torch.arange(n, device=x.device)).to(_precise(x.dtype))
        angle = place[:, None] * speed
        turn = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        q = rotate(split_heads(self.q(x), h), turn)
        k = rotate(split_heads(self.key(x), h), turn) * self.k**-0.5
        y, left = self.core(q, k, split_heads(self.v(x), h), None if state is None else state[0])
        y = merge_heads(F.layer_norm(y, (2 * self.k,), eps=_EPS))
        return self.o(F.silu(self.gate(x)) * y), (left, seen + n)

    def forward(self, x: Tensor) -> Tensor:
        return self._run(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the sum after the last position."""
        return self._run(x)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]."""
        return self._run(x, state)


def naive(module: RetNet, x: Tensor) -> Tensor:
    """Compute the same from the weights of all pairs, turned as complex numbers."""
    h, k, n = module.heads, module.k, x.shape[1]
    q, key = (torch.unflatten(part(x), -1, (h, k)) for part in (module.q, module.key))
    q, key = (torch.complex(part[..., : k // 2], part[..., k // 2 :]) for part in (q, key))
    v = torch.unflatten(module.v(x), -1, (h, 2 * k))
    speed = frequencies(k, 10000.0, Scaling(), n, device=x.device).to(x.dtype)
    rows = []
    for i in range(n):
        y = torch.zeros_like(v[:, 0])
        for j in range(i + 1):
            turned = torch.polar(torch.ones_like(speed), (i - j) * speed)
            weight = (q[:, i] * key[:, j].conj() * turned).real.sum(-1) / k**0.5
            fallen = (1 - 2.0 ** (-5 - torch.arange(h, dtype=x.dtype, device=x.device))) ** (i - j)
            y = y + (weight * fallen)[..., None] * v[:, j]
        centred = y - y.mean(-1, keepdim=True)
        y = centred / (centred.square().mean(-1, keepdim=True) + _EPS).sqrt()
        gate = module.gate(x[:, i])
        rows.append(module.o(gate * torch.sigmoid(gate) * y.flatten(1)))
    return torch.stack(rows, dim=1)


def build(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64, c: int = 64
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return RetNet(Config(d, h, k, c)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64, c: int = 64
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return RetNet(Config(d, h, k, c)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, k: int = 64, c: int = 64
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    state = (torch.randn(b, h, k, 2 * k), torch.full((1,), n, dtype=torch.int64))
    return RetNet(Config(d, h, k, c)).step, (torch.randn(b, 1, d),), state


_PAPER = "Sun et al. 2023, table 1"

SPEC = ArchitectureSpec(
    name="retnet",
    title="RetNet, multi-scale retention in chunks",
    kind="architecture",
    family="linear attention",
    paper="https://arxiv.org/abs/2307.08621",
    symbols=("b", "n", "d", "h", "k", "c"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "k": 64, "c": 64},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "n", _PAPER, ("n",), ("c fixed",)),
        Claim("peak_bytes", "core", "n", _PAPER, ("n",), ("c fixed",)),
        Claim("state_bytes", "layer", "1", _PAPER, ("n",), mode="decode"),
    ),
    gives_up="No softmax, and a weight falls with distance at a rate that is fixed for each head.",
    constraints=("2 divides k",),
)
