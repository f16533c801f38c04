"""Mamba: a state space whose steps depend on the input, scanned with all chunks in step.

Gu and Dao 2023, "Mamba", https://arxiv.org/abs/2312.00752.

    h_t = exp(dt_t A) h_(t-1) + dt_t B_t x_t,  y_t = C_t h_t + D x_t, for each of 2d channels

Shapes: b batch, n positions, d width, s state size, r rank of the steps dt, c chunk.
    u, y         [b, n, d]
    x, dt; B, C  [b, n, 2d]; [b, n, s]
    A; h         [2d, s]; [b, n, 2d, s], in chunks [b, ceil(n/c), c, 2d, s]
    state        the last 3 inputs of the convolution [b, 2d, 3], and the last h [b, 2d, s]

The scan takes 2c + ceil(n/c) dependent steps, not n. Here all h are in memory, as without the
paper's fused kernel, which keeps 2d numbers per position in place of 2d s. Four taps of
convolution; 6 d**2 + 2d (5 + r + 2s + r + 1 + s + 1) parameters. r is ceil(d/16) unless given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.causal_convolution import CausalConvolution
from costlab.ops.chunked_scan import chunked_scan
from costlab.ops.windows import block_count

_TAPS = 4
State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` (2d inside), state size ``s``, rank ``r`` of the steps, chunk ``c``."""

    d: int
    s: int
    r: int
    c: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, s=self.s, r=self.r, c=self.c)


class SelectiveCore(nn.Module):
    """Convolution, selection of the steps and matrices from it, and scan: ``[b, n, 2d]``."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, self.s, self.r, self.c = 2 * config.d, config.s, config.r, config.c
        self.conv = CausalConvolution(width, _TAPS)
        self.select = nn.Linear(width, config.r + 2 * config.s, bias=False)
        self.dt = nn.Linear(config.r, width)
        rates = torch.arange(1, config.s + 1).float().log()
        self.log_rate = nn.Parameter(rates.repeat(width, 1))
        self.skip = nn.Parameter(torch.ones(width))
        nn.init.uniform_(self.dt.bias, -6.9, -2.25)  # steps of 0.001 to 0.1

    def forward(
        self, u: Tensor, state: State | None = None, keep_state: bool = False
    ) -> tuple[Tensor, State | None]:
        mixed, inputs = self.conv(u, None if state is None else state[0])
        x = F.silu(mixed)
        low, b, c = self.select(x).split((self.r, self.s, self.s), dim=-1)
        dt = F.softplus(self.dt(low))
        if state is None:
            states = self._scan(x * dt, dt, b)
        else:
            decay = (dt[..., None] * -self.log_rate.exp()).exp()
            states = decay * state[1][:, None] + (x * dt)[..., None] * b[..., None, :]
        y = (states @ c[..., None])[..., 0] + x * self.skip
        if not (keep_state or state):
            return y, None
        # Copies, because views would keep all inputs and states alive.
        return y, (inputs[..., -(_TAPS - 1) :].clone(), states[:, -1].clone())

    def _scan(self, x: Tensor, dt: Tensor, b: Tensor) -> Tensor:
        """All states [b, n, 2d, s]; ``x`` is scaled by its step already."""
        n, m = x.shape[1], block_count(x.shape[1], self.c)
        more, shape = m * self.c - n, (m, self.c)
        x = torch.unflatten(F.pad(x, (0, 0, 0, more)), 1, shape)
        dt = torch.unflatten(F.pad(dt, (0, 0, 0, more)), 1, shape)
        b = torch.unflatten(F.pad(b, (0, 0, 0, more)), 1, shape)
        decay = (dt[..., None] * -self.log_rate.exp()).exp_()
        return chunked_scan(x[..., None] * b[..., None, :], decay).flatten(1, 2)[:, :n]


class Mamba(nn.Module):
    """One mixer: projections, core, gate, projection."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d = config.d
        self.inner = nn.Linear(d, 2 * d, bias=False)
        self.gate = nn.Linear(d, 2 * d, bias=False)
        self.core = SelectiveCore(config)
        self.o = nn.Linear(2 * d, d, bias=False)

    def _run(
        self, u: Tensor, state: State | None = None, keep_state: bool = False
    ) -> tuple[Tensor, State | None]:
        y, left = self.core(self.inner(u), state, keep_state)
        return self.o(y * F.silu(self.gate(u))), left

    def forward(self, u: Tensor) -> Tensor:
        return self._run(u)[0]

    def prefill(self, u: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the state after the last position."""
        y, state = self._run(u, keep_state=True)
        assert state is not None
        return y, state

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``u`` [b, 1, d]."""
        y, left = self._run(u, state)
        assert left is not None
        return y, left


def naive(module: Mamba, u: Tensor) -> Tensor:
    """Compute the same one position at a time, by the recurrence."""
    core, inner, gate = module.core, module.inner(u), module.gate(u)
    state, rows = u.new_zeros(u.shape[0], *core.log_rate.shape), []
    for t in range(u.shape[1]):
        x: Tensor = core.conv.bias
        for tap in range(min(t + 1, _TAPS)):
            x = x + core.conv.weight[:, 0, _TAPS - 1 - tap] * inner[:, t - tap]
        x = x * torch.sigmoid(x)
        chosen = F.linear(x, core.select.weight)
        b, c = chosen[:, core.r : core.r + core.s], chosen[:, core.r + core.s :]
        dt = F.linear(chosen[:, : core.r], core.dt.weight, core.dt.bias)
        dt = torch.log1p(torch.exp(dt))
        decay = torch.exp(-torch.einsum("bd,ds->bds", dt, torch.exp(core.log_rate)))
        state = decay * state + torch.einsum("bd,bd,bs->bds", dt, x, b)
        y = torch.einsum("bds,bs->bd", state, c) + core.skip * x
        rows.append(y * gate[:, t] * torch.sigmoid(gate[:, t]))
    return F.linear(torch.stack(rows, dim=1), module.o.weight)


def _module(d: int, s: int, r: int | None, c: int) -> Mamba:
    check_positive(d=d)
    return Mamba(Config(d, s, block_count(d, 16) if r is None else r, c))


def build(
    *, b: int, n: int, d: int, s: int = 16, r: int | None = None, c: int = 16
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return _module(d, s, r, c), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, s: int = 16, r: int | None = None, c: int = 16
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return _module(d, s, r, c).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, s: int = 16, r: int | None = None, c: int = 16
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    state = (torch.randn(b, 2 * d, _TAPS - 1), torch.randn(b, 2 * d, s))
    return _module(d, s, r, c).step, (torch.randn(b, 1, d),), state


_PAPER = "Gu and Dao 2023, section 3.3"

SPEC = ArchitectureSpec(
    name="mamba",
    title="Mamba, selective scan in chunks",
    kind="architecture",
    family="state space",
    paper="https://arxiv.org/abs/2312.00752",
    symbols=("b", "n", "d", "s", "r", "c"),
    defaults={"b": 1, "n": 1024, "d": 512, "s": 16, "r": 32, "c": 16},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "n", _PAPER, ("n",), ("c fixed",)),
        Claim("peak_bytes", "core", "b*n*d*s", _PAPER, ("b", "n", "d", "s"), ("r, c fixed",)),
        Claim("state_bytes", "layer", "b*d*s", _PAPER, ("b", "d", "s"), mode="decode"),
    ),
    gives_up="The past is s numbers per channel, forgotten at rates that each position chooses.",
    constraints=("c == 16",),
    ties={"r": "ceiling(d/16)"},
)
