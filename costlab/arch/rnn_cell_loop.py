"""The simple recurrent network as a Python loop over ``nn.RNNCell``, from a zero state.

Elman 1990, "Finding structure in time", https://doi.org/10.1207/s15516709cog1402_1. This is how
a recurrence is often written by hand: h_t = tanh(W x_t + U h_{t-1} + bias), one call per step,
the input product inside the step too.

Shapes: b batch, n positions, d width of input and hidden state.
    x, y       [b, n, d]

PyTorch keeps two bias vectors: 2 d**2 + 2 d parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` of the input and of the hidden state."""

    d: int

    def __post_init__(self) -> None:
        check_positive(d=self.d)


class CellLoop(nn.Module):
    """One call of the cell per position; returns every hidden state."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.cell = nn.RNNCell(d, d)

    def forward(self, x: Tensor) -> Tensor:
        hidden = x.new_zeros(x.shape[0], self.cell.hidden_size)
        outputs = []
        for t in range(x.shape[1]):
            hidden = self.cell(x[:, t], hidden)
            outputs.append(hidden)
        return torch.stack(outputs, dim=1)


class RNNCellLoop(nn.Module):
    """The loop as a layer; all of it mixes positions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.core = CellLoop(config.d)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.core(x)
        return y


def naive(module: RNNCellLoop, x: Tensor) -> Tensor:
    """Compute the same with the input products of all positions first."""
    cell = module.core.cell
    from_input = F.linear(x, cell.weight_ih, cell.bias_ih)
    hidden = torch.tanh(from_input[:, 0] + cell.bias_hh)
    outputs = [hidden]
    for t in range(1, x.shape[1]):
        hidden = torch.tanh(from_input[:, t] + hidden @ cell.weight_hh.T + cell.bias_hh)
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return RNNCellLoop(Config(d)), (torch.randn(b, n, d),)


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="rnn_cell_loop",
    title="RNN as a loop over cells, simple recurrent network",
    kind="architecture",
    family="recurrent",
    paper="https://doi.org/10.1207/s15516709cog1402_1",
    symbols=("b", "n", "d"),
    defaults={"b": 1, "n": 1024, "d": 512},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "b*n*d**2", _TABLE_1),
        Claim("steps", "layer", "n", _TABLE_1, variables=("n",)),
        Claim("saved_bytes", "layer", "b*n*d", "Elman 1990, unrolled", mode="train"),
    ),
    gives_up="Step t waits for step t-1, and every step pays the launch of several operators.",
    loops=("n",),
)
