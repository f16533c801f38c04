"""The gated recurrent unit as it was published: the reset gate acts before the product.

    r, u = sigmoid(W x_t + U h_{t-1} + bias),  z = tanh(W x_t + U (r h_{t-1}) + bias),
    h_t = (1 - u) z + u h_{t-1}.

Cho et al. 2014, https://arxiv.org/abs/1406.1078, equations 5 to 8, with biases. PyTorch's form
(entry ``gru``) multiplies by r after the product, so that all three products of a step are one;
here the second waits for the first: two dependent products a step.

Shapes: b batch, n positions, d width of input and hidden state.
    x, y       [b, n, d]
    state      the last hidden state, [b, d]

Three maps of input and state, a bias each: 6 d**2 + 3 d parameters. The input products of all
positions are one product before the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

State = tuple[Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` of the input and of the hidden state."""

    d: int

    def __post_init__(self) -> None:
        check_positive(d=self.d)


class ResettingCells(nn.Module):
    """The steps, from what the input gives to the gates: ``[b, n, 3 d]``, in the order r, u, z."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.width = d
        self.gates = nn.Linear(d, 2 * d, bias=False)
        self.candidate = nn.Linear(d, d, bias=False)

    def forward(self, from_input: Tensor, state: State) -> tuple[Tensor, State]:
        (hidden,) = state
        to_gates, to_candidate = self.gates.weight.t(), self.candidate.weight.t()
        outputs = []
        for given in from_input.unbind(1):
            gates = torch.addmm(given[:, : 2 * self.width], hidden, to_gates).sigmoid()
            reset, update = gates.chunk(2, dim=1)
            raw = torch.addmm(given[:, 2 * self.width :], reset * hidden, to_candidate)
            hidden = torch.lerp(raw.tanh(), hidden, update)
            outputs.append(hidden)
        return torch.stack(outputs, dim=1), (hidden,)


class ResettingGRU(nn.Module):
    """The input's part of the gates for all positions, then one step after another."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.input = nn.Linear(config.d, 3 * config.d)
        self.core = ResettingCells(config.d)

    def forward(self, x: Tensor) -> Tensor:
        return self.prefill(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last hidden state."""
        return self.step(x, (x.new_zeros(x.shape[0], self.core.width),))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take new tokens ``x`` [b, n, d], one in decoding."""
        y: tuple[Tensor, State] = self.core(self.input(x), state)
        return y


def naive(module: ResettingGRU, x: Tensor) -> Tensor:
    """Step through the recurrence as it is written, one gate at a time."""
    w_reset, w_update, w_candidate = module.input.weight.chunk(3)
    b_reset, b_update, b_candidate = module.input.bias.chunk(3)
    u_reset, u_update = module.core.gates.weight.chunk(2)
    u_candidate = module.core.candidate.weight
    hidden = x.new_zeros(x.shape[0], x.shape[2])
    outputs = []
    for t in range(x.shape[1]):
        given = x[:, t]
        reset = torch.sigmoid(F.linear(given, w_reset, b_reset) + hidden @ u_reset.T)
        update = torch.sigmoid(F.linear(given, w_update, b_update) + hidden @ u_update.T)
        from_state = (reset * hidden) @ u_candidate.T
        candidate = torch.tanh(F.linear(given, w_candidate, b_candidate) + from_state)
        hidden = (1 - update) * candidate + update * hidden
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return ResettingGRU(Config(d)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return ResettingGRU(Config(d)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    return ResettingGRU(Config(d)).step, (torch.randn(b, 1, d),), (torch.randn(b, d),)


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="gru_2014",
    title="GRU of 2014, reset before the product",
    kind="architecture",
    family="recurrent",
    paper="https://arxiv.org/abs/1406.1078",
    symbols=("b", "n", "d"),
    defaults={"b": 1, "n": 1024, "d": 512},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "layer", "b*n*d**2", _TABLE_1),
        Claim("steps", "layer", "n", _TABLE_1, variables=("n",)),
        Claim("saved_bytes", "layer", "b*n*d", "Cho et al. 2014, unrolled", mode="train"),
        Claim("state_bytes", "layer", "b*d", "Cho et al. 2014, one hidden state", mode="decode"),
    ),
    gives_up="Step t waits for step t-1, and within a step one product waits for another.",
    loops=("n",),
)
