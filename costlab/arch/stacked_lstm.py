"""L layers of the long short-term memory in PyTorch's fused form, each over the one below.

Graves, Mohamed and Hinton 2013, "Speech recognition with deep recurrent neural networks",
https://arxiv.org/abs/1303.5778, section 2; the cell is that of entry ``lstm``. A layer's step
waits for its own step before and for that of the layer below.

Shapes: b batch, n positions, d width of input and hidden states, L layers.
    x, y       [b, n, d]
    state      the last hidden and cell state of every layer, each [L, b, d]

PyTorch keeps two bias vectors for each layer: L (8 d**2 + 8 d) parameters. Formulas are derived
for two layers: L counts the passes of a loop around that over n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import lstm
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

State = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """``L`` layers of width ``d``."""

    d: int
    L: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, L=self.L)


class StackedLSTM(nn.Module):
    """``nn.LSTM`` of several layers over a batch-first sequence."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.core = nn.LSTM(config.d, config.d, num_layers=config.L, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.core(x)[0]
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping every layer's last state."""
        y, state = self.core(x)
        return y, state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]."""
        y, after = self.core(x, state)
        return y, after


def naive(module: StackedLSTM, x: Tensor) -> Tensor:
    """One layer after another."""
    for weights in module.core.all_weights:
        x = lstm.naive_layer(weights, x)
    return x


def build(*, b: int, n: int, d: int, L: int = 2) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return StackedLSTM(Config(d, L)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, L: int = 2
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return StackedLSTM(Config(d, L)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, L: int = 2
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    state = tuple(torch.randn(L, b, d) for _ in range(2))
    return StackedLSTM(Config(d, L)).step, (torch.randn(b, 1, d),), state


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"
_GRAVES = "Graves et al. 2013, section 2"

SPEC = ArchitectureSpec(
    name="stacked_lstm",
    title="LSTM of L layers",
    kind="architecture",
    family="recurrent",
    paper="https://arxiv.org/abs/1303.5778",
    symbols=("b", "n", "d", "L"),
    defaults={"b": 1, "n": 1024, "d": 512, "L": 2},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "layer", "b*n*d**2", _TABLE_1, ("b", "n", "d")),
        Claim("steps", "layer", "n", _TABLE_1, variables=("n",)),
        Claim("saved_bytes", "layer", "b*n*d", _GRAVES, ("b", "n", "d"), mode="train"),
        Claim("state_bytes", "layer", "b*d", _GRAVES, ("b", "n", "d"), mode="decode"),
    ),
    gives_up="Step t waits for step t-1 in every layer, and each layer for the one below.",
    constraints=("L == 2",),
    loops=("n",),
)
