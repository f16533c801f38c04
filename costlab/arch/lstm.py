"""The long short-term memory with forget gate, in PyTorch's fused form.

    i, f, o = sigmoid(W x_t + U h_{t-1} + bias), z = tanh(W x_t + U h_{t-1} + bias),
    c_t = f c_{t-1} + i z,  h_t = o tanh(c_t).

Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735; forget gate by Gers,
Schmidhuber and Cummins 2000, https://doi.org/10.1162/089976600300015015.

Shapes: b batch, n positions, d width of input and hidden state.
    x, y       [b, n, d]
    state      the last hidden and cell state, each [1, b, d]

PyTorch keeps two bias vectors: 8 d**2 + 8 d parameters. The input products W x are part of the
core because the fused operator computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class FusedLSTM(nn.Module):
    """``nn.LSTM`` over a batch-first sequence."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.core = nn.LSTM(config.d, config.d, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.core(x)[0]
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last hidden and cell state."""
        y, (hidden, memory) = self.core(x)
        return y, (hidden, memory)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]."""
        y, (hidden, memory) = self.core(x, state)
        return y, (hidden, memory)


def naive(module: FusedLSTM, x: Tensor) -> Tensor:
    """Step through the recurrence as it is written."""
    return naive_layer(module.core.all_weights[0], x)


def naive_layer(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """One layer in one direction, its weights and biases as ``nn.LSTM`` orders them."""
    w_input, w_hidden, bias_input, bias_hidden = weights
    hidden = x.new_zeros(x.shape[0], w_hidden.shape[1])
    memory = hidden
    outputs = []
    for t in range(x.shape[1]):
        gates = F.linear(x[:, t], w_input, bias_input)
        gates = gates + F.linear(hidden, w_hidden, bias_hidden)
        admit, keep, candidate, show = gates.chunk(4, dim=-1)
        memory = keep.sigmoid() * memory + admit.sigmoid() * candidate.tanh()
        hidden = show.sigmoid() * memory.tanh()
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return FusedLSTM(Config(d)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return FusedLSTM(Config(d)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    state = (torch.randn(1, b, d), torch.randn(1, b, d))
    return FusedLSTM(Config(d)).step, (torch.randn(b, 1, d),), state


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="lstm",
    title="LSTM, with forget gate",
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
    gives_up="Step t waits for step t-1; four times the work of a simple recurrence.",
    loops=("n",),
)
