"""Mamba-2: a state space with one decay per head, computed in chunks of matrix products (SSD).

Dao and Gu 2024, "Transformers are SSMs", https://arxiv.org/abs/2405.21060.

    S_t = exp(dt_t A) S_(t-1) + B_t (dt_t x_t)^T,  y_t = C_t S_t + D x_t

Shapes: b batch, n positions, d width, h heads, s state size, c chunk, m = ceil(n/c) chunks,
p = 2d/h head size.
    u, y         [b, n, d]
    x; B, C; dt  [b, n, h, p]; [b, n, s], one group for all heads; [b, n, h], after a softplus
    S            [b, s, h, p]
    state        the last 3 inputs of the convolution [b, 2d + 2s, 3], and S

Within a chunk all pairs are computed, (C B^T * decay) x with C B^T once for all heads; chunks
enter the next by one pass over their states, which is linear in n (the paper's listing takes a
product of m x m). Four taps of convolution, no bias in the projections:
d (4d + 2s + h) + 5 (2d + 2s) + 3h + 2d + 2 d**2 parameters. n need not be a multiple of c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.carried import carry
from costlab.ops.causal_convolution import CausalConvolution
from costlab.ops.windows import block_count

_TAPS = 4
State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` (2d inside) over ``h`` heads, state size ``s``, chunk ``c``."""

    d: int
    h: int
    s: int
    c: int

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(s=self.s, c=self.c)


class SSDCore(nn.Module):
    """Convolution and state space: from ``[b, n, 2d + 2s]`` and steps ``[b, n, h]`` to 2d."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.width, self.h, self.s, self.c = 2 * config.d, config.h, config.s, config.c
        self.conv = CausalConvolution(self.width + 2 * config.s, _TAPS)
        self.log_rate = nn.Parameter(torch.arange(1, config.h + 1).float().log())
        self.skip = nn.Parameter(torch.ones(config.h))

    def forward(
        self, u: Tensor, dt: Tensor, state: State | None = None, keep_state: bool = False
    ) -> tuple[Tensor, State | None]:
        mixed, inputs = self.conv(u, None if state is None else state[0])
        x, b, c = torch.split(F.silu(mixed), [self.width, self.s, self.s], dim=-1)
        x = torch.unflatten(x, -1, (self.h, self.width // self.h))
        decay = dt * -self.log_rate.exp()
        if state is None:
            y, left = self._chunks(x * dt[..., None], decay, b, c)
        else:
            left = state[1] * decay.exp()[..., None] + b.mT[..., None] * (x * dt[..., None])
            y = torch.unflatten(c @ left.flatten(2), -1, (self.h, -1))
        y = (y + x * self.skip[:, None]).flatten(2)
        # A copy, because a view would keep all inputs alive.
        return y, (inputs[..., -(_TAPS - 1) :].clone(), left) if keep_state or state else None

    def _chunks(self, x: Tensor, decay: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs [b, n, h, p] and the last state; ``x`` is scaled by its step already."""
        n, m = x.shape[1], block_count(x.shape[1], self.c)
        more, shape = m * self.c - n, (m, self.c)
        x = torch.unflatten(F.pad(x.flatten(2), (0, 0, 0, more)), 1, shape)
        b = torch.unflatten(F.pad(b, (0, 0, 0, more)), 1, shape)
        c = torch.unflatten(F.pad(c, (0, 0, 0, more)), 1, shape)
        passed = torch.unflatten(F.pad(decay, (0, 0, 0, more)), 1, shape).cumsum(2)
        heads = torch.unflatten(x, -1, (self.h, -1))
        # What each chunk leaves at its end, and from it what is there at its beginning.
        rest = (passed[:, :, -1:] - passed).exp()[..., None]
        added = b.mT @ (heads * rest).flatten(3)
        carried = carry(
            torch.unflatten(added, -1, (self.h, -1)), passed[:, :, -1, None, :, None].exp()
        )
        y = torch.unflatten(c @ carried[:, :-1].flatten(3), -1, (self.h, -1))
        y = y * passed.exp()[..., None]
        weights = (c @ b.mT)[:, :, None] * self._decays(passed.transpose(2, 3))
        near = (weights @ heads.transpose(2, 3)).transpose(2, 3)
        return (y + near).flatten(1, 2)[:, :n], carried[:, -1]

    def _decays(self, passed: Tensor) -> Tensor:
        """Decay between positions of a chunk ``[.., c, c]``, 0 towards later ones."""
        later = torch.ones(self.c, self.c, dtype=torch.bool, device=passed.device).triu(1)
        between = passed[..., None] - passed[..., None, :]
        return between.masked_fill_(later, -torch.inf).exp_()


class Mamba2(nn.Module):
    """One mixer: projection, core, gated norm, projection."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d = config.d
        self.gate = nn.Linear(d, 2 * d, bias=False)
        self.inner = nn.Linear(d, 2 * d + 2 * config.s, bias=False)
        self.dt = nn.Linear(d, config.h, bias=False)
        self.step_bias = nn.Parameter(torch.linspace(-6.9, -2.25, config.h))  # dt 0.001 to 0.1
        self.core = SSDCore(config)
        self.norm = nn.RMSNorm(2 * d, eps=1e-5)
        self.o = nn.Linear(2 * d, d, bias=False)

    def _run(
        self, u: Tensor, state: State | None = None, keep_state: bool = False
    ) -> tuple[Tensor, State | None]:
        dt = F.softplus(self.dt(u) + self.step_bias)
        y, left = self.core(self.inner(u), dt, state, keep_state)
        return self.o(self.norm(y * F.silu(self.gate(u)))), left

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


def naive(module: Mamba2, u: Tensor) -> Tensor:
    """Compute the same one position at a time, by the recurrence."""
    core, d = module.core, module.o.weight.shape[0]
    gate, inner = module.gate(u), module.inner(u)
    dt = torch.log1p(torch.exp(module.dt(u) + module.step_bias))
    state, rows = u.new_zeros(u.shape[0], core.h, core.s, 2 * d // core.h), []
    for t in range(u.shape[1]):
        mixed: Tensor = core.conv.bias
        for tap in range(min(t + 1, _TAPS)):
            mixed = mixed + core.conv.weight[:, 0, _TAPS - 1 - tap] * inner[:, t - tap]
        mixed = mixed * torch.sigmoid(mixed)
        x, b, c = mixed[:, : 2 * d], mixed[:, 2 * d : 2 * d + core.s], mixed[:, 2 * d + core.s :]
        x = x.view(u.shape[0], core.h, -1)
        decay = torch.exp(-dt[:, t] * torch.exp(core.log_rate))
        new = torch.einsum("bs,bhp,bh->bhsp", b, x, dt[:, t])
        state = decay[..., None, None] * state + new
        y = torch.einsum("bs,bhsp->bhp", c, state) + core.skip[:, None] * x
        y = y.flatten(1) * gate[:, t] * torch.sigmoid(gate[:, t])
        rows.append(y / (y.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * module.norm.weight)
    return F.linear(torch.stack(rows, dim=1), module.o.weight)


def build(
    *, b: int, n: int, d: int, h: int = 16, s: int = 128, c: int = 64
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return Mamba2(Config(d, h, s, c)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 16, s: int = 128, c: int = 64
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return Mamba2(Config(d, h, s, c)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 16, s: int = 128, c: int = 64
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    module = Mamba2(Config(d, h, s, c))
    state = (torch.randn(b, 2 * d + 2 * s, _TAPS - 1), torch.randn(b, s, h, 2 * d // h))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Dao and Gu 2024, theorem 6.1"

SPEC = ArchitectureSpec(
    name="mamba2",
    title="Mamba-2, state space duality in chunks",
    kind="architecture",
    family="state space",
    paper="https://arxiv.org/abs/2405.21060",
    symbols=("b", "n", "d", "h", "s", "c"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 16, "s": 128, "c": 64},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "n", _PAPER, ("n",), ("c fixed",)),
        Claim("peak_bytes", "core", "n", _PAPER, ("n",), ("c fixed",)),
        Claim("flop", "core", "b*d*s", _PAPER, ("b", "d", "s"), mode="decode"),
        Claim("state_bytes", "layer", "1", _PAPER, ("n",), mode="decode"),
    ),
    gives_up="The past is one s x p matrix per head, forgotten at one rate per head and position.",
    constraints=("h divides d",),
)
