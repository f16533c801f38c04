"""The long short-term memory of 1997: an input and an output gate, and a cell that only adds.

    i, o = sigmoid(W x_t + U h_{t-1} + bias),  z = tanh(W x_t + U h_{t-1} + bias),
    c_t = c_{t-1} + i z,  h_t = o tanh(c_t).

Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735, with one cell per
block and tanh in both places where the paper scales a sigmoid. Nothing is forgotten: the factor
from c_{t-1} to c_t is exactly 1, so the cell keeps what it has taken up, and grows.

Shapes: b batch, n positions, d width of input and hidden state.
    x, y       [b, n, d]
    state      the last hidden and cell state, each [b, d]

Three maps of input and state, a bias each: 6 d**2 + 3 d parameters. The input products of all
positions are one product before the loop; each step is a product of the state and its gates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

State = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` of the input and of the hidden state."""

    d: int

    def __post_init__(self) -> None:
        check_positive(d=self.d)


class AddingCells(nn.Module):
    """The steps, from what the input gives to the gates: ``[b, n, 3 d]``, in the order i, o, z."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.width = d
        self.recurrent = nn.Linear(d, 3 * d, bias=False)

    def forward(self, from_input: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, memory = state
        weight = self.recurrent.weight.t()
        outputs = []
        for given in from_input.unbind(1):
            raw = torch.addmm(given, hidden, weight)
            admit, show = raw[:, : 2 * self.width].sigmoid().chunk(2, dim=1)
            memory = torch.addcmul(memory, admit, raw[:, 2 * self.width :].tanh())
            hidden = show * memory.tanh()
            outputs.append(hidden)
        return torch.stack(outputs, dim=1), (hidden, memory)


class AddingLSTM(nn.Module):
    """The input's part of the gates for all positions, then one step after another."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.input = nn.Linear(config.d, 3 * config.d)
        self.core = AddingCells(config.d)

    def forward(self, x: Tensor) -> Tensor:
        return self.prefill(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last hidden and cell state."""
        zero = x.new_zeros(x.shape[0], self.core.width)
        return self.step(x, (zero, zero))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take new tokens ``x`` [b, n, d], one in decoding."""
        y: tuple[Tensor, State] = self.core(self.input(x), state)
        return y


def naive(module: AddingLSTM, x: Tensor) -> Tensor:
    """Step through the recurrence as it is written, one gate at a time."""
    w_admit, w_show, w_candidate = module.input.weight.chunk(3)
    u_admit, u_show, u_candidate = module.core.recurrent.weight.chunk(3)
    b_admit, b_show, b_candidate = module.input.bias.chunk(3)
    hidden = x.new_zeros(x.shape[0], x.shape[2])
    memory = hidden
    outputs = []
    for t in range(x.shape[1]):
        given = x[:, t]
        admit = torch.sigmoid(F.linear(given, w_admit, b_admit) + hidden @ u_admit.T)
        show = torch.sigmoid(F.linear(given, w_show, b_show) + hidden @ u_show.T)
        candidate = torch.tanh(F.linear(given, w_candidate, b_candidate) + hidden @ u_candidate.T)
        memory = memory + admit * candidate
        hidden = show * torch.tanh(memory)
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return AddingLSTM(Config(d)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return AddingLSTM(Config(d)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    state = (torch.randn(b, d), torch.randn(b, d))
    return AddingLSTM(Config(d)).step, (torch.randn(b, 1, d),), state


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="lstm_1997",
    title="LSTM of 1997, without forget gate",
    kind="architecture",
    family="recurrent",
    paper="https://doi.org/10.1162/neco.1997.9.8.1735",
    symbols=("b", "n", "d"),
    defaults={"b": 1, "n": 1024, "d": 512},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "layer", "b*n*d**2", _TABLE_1),
        Claim("steps", "layer", "n", _TABLE_1, variables=("n",)),
        Claim("saved_bytes", "layer", "b*n*d", "Gers et al. 2000, unrolled", mode="train"),
        Claim("state_bytes", "layer", "b*d", "Hochreiter and Schmidhuber 1997", mode="decode"),
    ),
    gives_up="Step t waits for step t-1; the cell forgets nothing, so it grows until it saturates.",
    loops=("n",),
)
