"""The gated recurrent unit, in PyTorch's form: reset applied after the recurrent product.

    r, u = sigmoid(W x_t + U h_{t-1} + bias),  z = tanh(W x_t + bias + r (U h_{t-1} + bias)),
    h_t = (1 - u) z + u h_{t-1}.

Cho et al. 2014, https://arxiv.org/abs/1406.1078 (whose reset gate acts before the product).

Shapes: b batch, n positions, d width of input and hidden state.
    x, y       [b, n, d]
    state      the last hidden state, [1, b, d]

PyTorch keeps two bias vectors: 6 d**2 + 6 d parameters. The input products W x are part of the
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

State = tuple[Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` of the input and of the hidden state."""

    d: int

    def __post_init__(self) -> None:
        check_positive(d=self.d)


class FusedGRU(nn.Module):
    """``nn.GRU`` over a batch-first sequence."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.core = nn.GRU(config.d, config.d, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.core(x)[0]
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last hidden state."""
        y, last = self.core(x)
        return y, (last,)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]."""
        y, last = self.core(x, state[0])
        return y, (last,)


def naive(module: FusedGRU, x: Tensor) -> Tensor:
    """Step through the recurrence as it is written."""
    return naive_layer(module.core.all_weights[0], x)


def naive_layer(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """One layer in one direction, its weights and biases as ``nn.GRU`` orders them."""
    w_input, w_hidden, bias_input, bias_hidden = weights
    hidden = x.new_zeros(x.shape[0], w_hidden.shape[1])
    outputs = []
    for t in range(x.shape[1]):
        from_input = F.linear(x[:, t], w_input, bias_input).chunk(3, dim=-1)
        recurrent = F.linear(hidden, w_hidden, bias_hidden).chunk(3, dim=-1)
        reset = torch.sigmoid(from_input[0] + recurrent[0])
        update = torch.sigmoid(from_input[1] + recurrent[1])
        candidate = torch.tanh(from_input[2] + reset * recurrent[2])
        hidden = (1 - update) * candidate + update * hidden
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return FusedGRU(Config(d)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return FusedGRU(Config(d)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    return FusedGRU(Config(d)).step, (torch.randn(b, 1, d),), (torch.randn(1, b, d),)


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="gru",
    title="GRU, gated recurrent unit",
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
    gives_up="Step t waits for step t-1; three times the work of a simple recurrence.",
    loops=("n",),
)
