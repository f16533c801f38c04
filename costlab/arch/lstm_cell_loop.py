"""The long short-term memory with forget gate as a Python loop over ``nn.LSTMCell``.

    i, f, o = sigmoid(W x_t + U h_{t-1} + bias), z = tanh(W x_t + U h_{t-1} + bias),
    c_t = f c_{t-1} + i z,  h_t = o tanh(c_t).

Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735; forget gate by Gers,
Schmidhuber and Cummins 2000, https://doi.org/10.1162/089976600300015015. The loop is what is
written where the steps are needed one by one; beside entry ``lstm`` it shows what the fused
operator saves. On CUDA the gates of a step are one fused operator.

Shapes: b batch, n positions, d width of input and hidden state.
    x, y       [b, n, d]
    state      the last hidden and cell state, each [b, d]

PyTorch keeps two bias vectors: 8 d**2 + 8 d parameters.
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


class CellLoop(nn.Module):
    """One call of the cell per position; returns every hidden state and the last state."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(d, d)

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        outputs = []
        for token in x.unbind(1):
            state = self.cell(token, state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state


class LSTMCellLoop(nn.Module):
    """The loop as a layer; all of it mixes positions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.core = CellLoop(config.d)

    def forward(self, x: Tensor) -> Tensor:
        return self.prefill(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last hidden and cell state."""
        zero = x.new_zeros(x.shape[0], self.core.cell.hidden_size)
        return self.step(x, (zero, zero))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take new tokens ``x`` [b, n, d], one in decoding."""
        y: tuple[Tensor, State] = self.core(x, state)
        return y


def naive(module: LSTMCellLoop, x: Tensor) -> Tensor:
    """Compute the same with the input products of all positions first."""
    cell = module.core.cell
    from_input = F.linear(x, cell.weight_ih, cell.bias_ih + cell.bias_hh)
    hidden = memory = x.new_zeros(x.shape[0], cell.hidden_size)
    outputs = []
    for t in range(x.shape[1]):
        gates = from_input[:, t] + hidden @ cell.weight_hh.T
        admit, keep, candidate, show = gates.chunk(4, dim=-1)
        memory = keep.sigmoid() * memory + admit.sigmoid() * candidate.tanh()
        hidden = show.sigmoid() * memory.tanh()
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return LSTMCellLoop(Config(d)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return LSTMCellLoop(Config(d)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    state = (torch.randn(b, d), torch.randn(b, d))
    return LSTMCellLoop(Config(d)).step, (torch.randn(b, 1, d),), state


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="lstm_cell_loop",
    title="LSTM as a loop over cells, with forget gate",
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
        Claim("state_bytes", "layer", "b*d", "Gers et al. 2000, state h and c", mode="decode"),
    ),
    gives_up="Step t waits for step t-1, and every step pays the launch of several operators.",
    loops=("n",),
)
