"""The gated recurrent unit, in PyTorch's form, as a Python loop over ``nn.GRUCell``.

    r, u = sigmoid(W x_t + U h_{t-1} + bias),  z = tanh(W x_t + bias + r (U h_{t-1} + bias)),
    h_t = (1 - u) z + u h_{t-1}.

Cho et al. 2014, https://arxiv.org/abs/1406.1078 (whose reset gate acts before the product, entry
``gru_2014``). Beside entry ``gru`` the loop shows what the whole layer in C++ saves. On CUDA the
gates of a step are one fused operator.

Shapes: b batch, n positions, d width of input and hidden state.
    x, y       [b, n, d]
    state      the last hidden state, [b, d]

PyTorch keeps two bias vectors: 6 d**2 + 6 d parameters.
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


class CellLoop(nn.Module):
    """One call of the cell per position; returns every hidden state and the last state."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(d, d)

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        (hidden,) = state
        outputs = []
        for token in x.unbind(1):
            hidden = self.cell(token, hidden)
            outputs.append(hidden)
        return torch.stack(outputs, dim=1), (hidden,)


class GRUCellLoop(nn.Module):
    """The loop as a layer; all of it mixes positions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.core = CellLoop(config.d)

    def forward(self, x: Tensor) -> Tensor:
        return self.prefill(x)[0]

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last hidden state."""
        return self.step(x, (x.new_zeros(x.shape[0], self.core.cell.hidden_size),))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take new tokens ``x`` [b, n, d], one in decoding."""
        y: tuple[Tensor, State] = self.core(x, state)
        return y


def naive(module: GRUCellLoop, x: Tensor) -> Tensor:
    """Compute the same with the input products of all positions first."""
    cell = module.core.cell
    from_input = F.linear(x, cell.weight_ih, cell.bias_ih)
    hidden = x.new_zeros(x.shape[0], cell.hidden_size)
    outputs = []
    for t in range(x.shape[1]):
        given = from_input[:, t].chunk(3, dim=-1)
        recurrent = F.linear(hidden, cell.weight_hh, cell.bias_hh).chunk(3, dim=-1)
        reset = torch.sigmoid(given[0] + recurrent[0])
        update = torch.sigmoid(given[1] + recurrent[1])
        candidate = torch.tanh(given[2] + reset * recurrent[2])
        hidden = (1 - update) * candidate + update * hidden
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return GRUCellLoop(Config(d)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return GRUCellLoop(Config(d)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    return GRUCellLoop(Config(d)).step, (torch.randn(b, 1, d),), (torch.randn(b, d),)


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="gru_cell_loop",
    title="GRU as a loop over cells",
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
    gives_up="Step t waits for step t-1, and every step pays the launch of several operators.",
    loops=("n",),
)
