"""Gated DeltaNet: a matrix state that decays, and in which new values replace those of their key.

Yang et al. 2024, "Gated delta networks", section 3, https://arxiv.org/abs/2412.06464, as the
linear layers of Qwen3-Next have it.

    S_t = a_t S_(t-1) + b_t k_t (v_t - a_t S_(t-1)^T k_t)^T,  y_t = S_t^T q_t

Shapes: b batch, n positions, d width, h heads, k head size, c chunk, m = ceil(n/c) chunks.
    x, y         [b, n, d]
    q, k, v      [b, n, h, k]; q and k of length 1
    a; b         [b, n, h], decay; how much of the old value goes, between 0 and 1
    S            [b, h, k, k]
    state        the last 3 inputs of the convolution [b, 3 h k, 3], and S

Within a chunk a triangular system of c unknowns gives what each token writes; between chunks
three products pass the state on. Four taps of convolution; the output of each head is normalised
and gated: 5 d h k + 2 d h + 12 h k + 2 h + k parameters. There several heads may share queries
and keys; here each has its own. n need not be a multiple of c.
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
from costlab.ops.delta_states import pass_on
from costlab.ops.windows import blocks

_TAPS = 4
_EPS = 1e-6
State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``, ``h`` heads of size ``k``, chunk ``c``."""

    d: int
    h: int
    k: int
    c: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, h=self.h, k=self.k, c=self.c)


def _precise(dtype: torch.dtype) -> torch.dtype:
    """What states and systems are computed in: they have no 16-bit form on a CPU."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _unit(x: Tensor) -> Tensor:
    return x * (x.square().sum(-1, keepdim=True) + _EPS).rsqrt()


class DeltaCore(nn.Module):
    """The recurrence, in chunks or by one step; ``decay`` is the logarithm of a."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.c = config.c

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        decay: Tensor,
        beta: Tensor,
        before: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """``y`` [b, n, h, k] and the state after the last position."""
        dtype = v.dtype
        q, k, v, decay, beta = (x.to(_precise(dtype)) for x in (q, k, v, decay, beta))
        q, k = _unit(q) * q.shape[-1] ** -0.5, _unit(k)
        q, k, v, decay, beta = (
            x.transpose(1, 2) for x in (q, k, v, decay[..., None], beta[..., None])
        )
        if before is None:
            y, after = self._chunks(q, k, v, decay, beta)
        else:
            held = before * decay.exp()
            after = held + k.mT * (beta * (v - k @ held))
            y = q @ after
        return y.transpose(1, 2).to(dtype), after

    def _chunks(
        self, q: Tensor, k: Tensor, v: Tensor, decay: Tensor, beta: Tensor
    ) -> tuple[Tensor, Tensor]:
        """From [b, h, n, k], and [b, h, n, 1] of ``decay`` and ``beta``."""
        (batch, heads, n, _), c = v.shape, self.c
        q, k, v, decay, beta = (blocks(x, c) for x in (q, k, v, decay, beta))
        passed = decay.cumsum(-2)
        later = torch.ones(c, c, dtype=torch.bool, device=v.device).triu(1)
        fallen = (passed - passed.mT).masked_fill(later, -torch.inf).exp()
        # Row i: what token i writes hangs on what tokens of its chunk before it wrote.
        system = (k @ k.mT) * fallen * beta
        new = torch.linalg.solve_triangular(system, v * beta, upper=False, unitriangular=True)
        old = torch.linalg.solve_triangular(
            system, k * (beta * passed.exp()), upper=False, unitriangular=True
        )
        total = passed[..., -1:, :]
        kept, rest = total.exp(), k * (total - passed).exp()
        states, written = (
            torch.unflatten(x, 0, (batch, heads))
            for x in pass_on(*(x.flatten(0, 1) for x in (new, old, rest, kept)))
        )
        y = (q * passed.exp()) @ states[:, :, :-1] + ((q @ k.mT) * fallen) @ written
        return y.flatten(2, 3)[:, :, :n], states[:, :, -1]


class GatedDeltaNet(nn.Module):
    """One mixer: projections, convolution, core, gated norm, projection."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        d, width = config.d, config.h * config.k
        self.inner = nn.Linear(d, 3 * width, bias=False)
        self.gate = nn.Linear(d, width, bias=False)
        self.strength = nn.Linear(d, config.h, bias=False)
        self.fall = nn.Linear(d, config.h, bias=False)
        self.conv = CausalConvolution(3 * width, _TAPS, bias=False)
        self.fall_bias = nn.Parameter(torch.ones(config.h))
        self.log_rate = nn.Parameter(torch.linspace(0.1, 16, config.h).log())
        self.core = DeltaCore(config)
        self.norm = nn.RMSNorm(config.k, eps=_EPS)
        self.o = nn.Linear(width, d, bias=False)

    def inputs(self, mixed: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values from the convolution's output."""
        heads = (self.config.h, self.config.k)
        return tuple(torch.unflatten(part, -1, heads) for part in F.silu(mixed).chunk(3, dim=-1))

    def _run(
        self, x: Tensor, state: State | None = None, keep_state: bool = False
    ) -> tuple[Tensor, State | None]:
        mixed, inputs = self.conv(self.inner(x), None if state is None else state[0])
        decay = F.softplus(self.fall(x) + self.fall_bias) * -self.log_rate.exp()
        beta = self.strength(x).sigmoid()
        q, k, v = self.inputs(mixed)
        y, left = self.core(q, k, v, decay, beta, None if state is None else state[1])
        y = self.norm(y) * F.silu(torch.unflatten(self.gate(x), -1, y.shape[2:]))
        if not keep_state and state is None:
            return self.o(y.flatten(2)), None
        # A copy, because a view would keep all inputs alive.
        return self.o(y.flatten(2)), (inputs[..., -(_TAPS - 1) :].clone(), left)

    def forward(self, x: Tensor) -> Tensor:
        return self._run(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the state after the last position."""
        y, state = self._run(x, keep_state=True)
        assert state is not None
        return y, state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]."""
        y, left = self._run(x, state)
        assert left is not None
        return y, left


def naive(module: GatedDeltaNet, x: Tensor) -> Tensor:
    """Compute the same one position at a time, by the recurrence."""
    config, inner = module.config, module.inner(x)
    state = x.new_zeros(x.shape[0], config.h, config.k, config.k)
    rows = []
    for t in range(x.shape[1]):
        mixed = torch.zeros_like(inner[:, 0])
        for tap in range(min(_TAPS, t + 1)):
            mixed = mixed + inner[:, t - tap] * module.conv.weight[:, 0, _TAPS - 1 - tap]
        q, k, v = module.inputs(mixed)
        q, k = (part / (part.square().sum(-1, keepdim=True) + _EPS).sqrt() for part in (q, k))
        fall = torch.log1p((module.fall(x[:, t]) + module.fall_bias).exp())
        state = state * (-fall * module.log_rate.exp()).exp()[..., None, None]
        old = torch.einsum("bhk,bhkv->bhv", k, state)
        beta = torch.sigmoid(module.strength(x[:, t]))[..., None]
        state = state + torch.einsum("bhk,bhv->bhkv", k, beta * (v - old))
        y = torch.einsum("bhk,bhkv->bhv", q, state) / config.k**0.5
        y = y / (y.square().mean(-1, keepdim=True) + _EPS).sqrt() * module.norm.weight
        gate = module.gate(x[:, t])
        rows.append(module.o(y.flatten(1) * gate * torch.sigmoid(gate)))
    return torch.stack(rows, dim=1)


def build(
    *, b: int, n: int, d: int, h: int = 8, k: int = 128, c: int = 64
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return GatedDeltaNet(Config(d, h, k, c)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 8, k: int = 128, c: int = 64
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return GatedDeltaNet(Config(d, h, k, c)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 8, k: int = 128, c: int = 64
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    module = GatedDeltaNet(Config(d, h, k, c))
    state = (torch.randn(b, 3 * h * k, _TAPS - 1), torch.randn(b, h, k, k))
    return module.step, (torch.randn(b, 1, d),), state


_PAPER = "Yang et al. 2024, section 3.3"

SPEC = ArchitectureSpec(
    name="gated_deltanet",
    title="Gated DeltaNet, in chunks",
    kind="architecture",
    family="linear attention",
    paper="https://arxiv.org/abs/2412.06464",
    symbols=("b", "n", "d", "h", "k", "c"),
    defaults={"b": 1, "n": 1024, "d": 1024, "h": 8, "k": 128, "c": 64},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "core", "n", _PAPER, ("n",), ("c fixed",)),
        Claim("state_bytes", "layer", "b*h*k**2", _PAPER, ("b", "h", "k"), mode="decode"),
        Claim("state_bytes", "layer", "1", _PAPER, ("n",), mode="decode"),
    ),
    gives_up="No softmax; a state of k x k numbers a head holds at most k keys apart.",
)
