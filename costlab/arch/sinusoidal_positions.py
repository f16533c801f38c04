"""Sinusoidal positions: sines and cosines of each position, added to the input.

Vaswani et al. 2017, section 3.5, https://arxiv.org/abs/1706.03762. Channel 2 i holds
sin(p / 10000^(2 i/d)) of position p, channel 2 i + 1 the cosine.

Shapes: b batch, n positions, d width.
    x, y       [b, n, d]
    table      [n, d/2, 2], made for each pass

No parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_even, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.rotary import rotation


@dataclass(frozen=True, slots=True)
class Config:
    """An even width ``d``."""

    d: int

    def __post_init__(self) -> None:
        check_even(d=self.d)


class SinusoidalPositions(nn.Module):
    """x plus the table: the sines and cosines of rotary positions, interleaved."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.d = config.d

    def forward(self, x: Tensor) -> Tensor:
        cos, sin = rotation(x, 0, x.shape[1], self.d)
        return x + torch.stack((sin, cos), dim=-1).flatten(-2)


def naive(module: SinusoidalPositions, x: Tensor) -> Tensor:
    """Compute the same from the paper's formula, channel by channel."""
    position = torch.arange(x.shape[1], dtype=x.dtype)
    columns = []
    for channel in range(module.d):
        # Frequencies are float32 in whatever precision the rest is.
        exponent = torch.tensor(channel // 2 * 2, dtype=torch.float32) / module.d
        angle = position * (1.0 / 10000.0**exponent)
        columns.append(angle.cos() if channel % 2 else angle.sin())
    return x + torch.stack(columns, dim=-1)


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return SinusoidalPositions(Config(d)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="sinusoidal_positions",
    title="Sinusoidal positions",
    kind="position",
    family="positions",
    paper="https://arxiv.org/abs/1706.03762",
    symbols=("b", "n", "d"),
    defaults={"b": 1, "n": 1024, "d": 512},
    modes=("forward", "train"),
    claims=(Claim("flop", "layer", "b*n*d", "Vaswani et al. 2017, section 3.5"),),
    gives_up="Nothing is learned of positions; far ones differ little.",
    constraints=("2 divides d",),
)
