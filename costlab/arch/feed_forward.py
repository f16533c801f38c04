"""The position-wise feed-forward layer: gelu(x W1) W2.

Vaswani et al. 2017, section 3.3, https://arxiv.org/abs/1706.03762, with the GELU of
Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415.

Shapes: b batch, n positions, d width, f feed-forward width.
    x, y       [b, n, d]
    hidden     [b, n, f]

Without biases: 2 d f parameters. Nothing mixes positions, so there is no core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d``, inner width ``f``, and whether the two products carry a ``bias``."""

    d: int
    f: int
    bias: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f)


class FeedForward(nn.Module):
    """Two products with a GELU between them."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = nn.Linear(config.d, config.f, bias=config.bias)
        self.down = nn.Linear(config.f, config.d, bias=config.bias)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(F.gelu(self.up(x)))
        return y


def naive(module: FeedForward, x: Tensor) -> Tensor:
    """Compute the same from the definition of the GELU, x times the normal distribution of x."""
    hidden = F.linear(x, module.up.weight, module.up.bias)
    hidden = hidden * 0.5 * (1 + torch.erf(hidden / math.sqrt(2)))
    return F.linear(hidden, module.down.weight, module.down.bias)


def build(*, b: int, n: int, d: int, f: int = 2048) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return FeedForward(Config(d, f)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="feed_forward",
    title="Feed-forward layer, position-wise (GELU)",
    kind="block",
    family="feed-forward",
    paper="https://arxiv.org/abs/1706.03762",
    symbols=("b", "n", "d", "f"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 2048},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "b*n*d*f", "Vaswani et al. 2017, section 3.3"),
        Claim("parameters", "layer", "d*f", "Vaswani et al. 2017, section 3.3"),
    ),
    gives_up="Mixes no positions; it needs a layer beside it that does.",
)
