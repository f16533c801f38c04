"""The long short-term memory in both directions, in PyTorch's fused form.

Schuster and Paliwal 1997, "Bidirectional recurrent neural networks",
https://doi.org/10.1109/78.650093; the cell is that of entry ``lstm``. Every output has seen every
position, so there is nothing to decode step by step.

Shapes: b batch, n positions, d width of input and of each direction's hidden state.
    x          [b, n, d]
    y          [b, n, 2 d], the forward direction's first

PyTorch keeps two bias vectors for each direction: 16 d**2 + 16 d parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import lstm
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` of the input and of each direction's hidden state."""

    d: int

    def __post_init__(self) -> None:
        check_positive(d=self.d)


class BidirectionalLSTM(nn.Module):
    """``nn.LSTM`` over a batch-first sequence, in both directions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.core = nn.LSTM(config.d, config.d, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.core(x)[0]
        return y


def naive(module: BidirectionalLSTM, x: Tensor) -> Tensor:
    """One direction after another; the second reads the reversed sequence."""
    ahead, back = module.core.all_weights
    reversed_y = lstm.naive_layer(back, x.flip(1))
    return torch.cat((lstm.naive_layer(ahead, x), reversed_y.flip(1)), dim=-1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return BidirectionalLSTM(Config(d)), (torch.randn(b, n, d),)


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"
_BOTH = "Schuster and Paliwal 1997, unrolled"

SPEC = ArchitectureSpec(
    name="bidirectional_lstm",
    title="LSTM in both directions",
    kind="architecture",
    family="recurrent",
    paper="https://doi.org/10.1109/78.650093",
    symbols=("b", "n", "d"),
    defaults={"b": 1, "n": 1024, "d": 512},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "b*n*d**2", _TABLE_1),
        Claim("steps", "layer", "n", _TABLE_1, variables=("n",)),
        Claim("saved_bytes", "layer", "b*n*d", _BOTH, mode="train"),
    ),
    gives_up="Nothing is said before the last position is read; twice the work of one direction.",
    loops=("n",),
)
