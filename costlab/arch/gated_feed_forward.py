"""The gated feed-forward layer: (act(x W1) * x W3) W2, SwiGLU, or GeGLU with ``gelu``.

Shazeer 2020, "GLU variants improve Transformer", https://arxiv.org/abs/2002.05202, equation 6.

Shapes: b batch, n positions, d width, f feed-forward width.
    x, y             [b, n, d]
    gate, up         [b, n, f]

Without biases: 3 d f parameters. With f = 8 d / 3 it costs what a plain layer with f = 4 d costs.
Nothing mixes positions, so there is no core.
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
    """Width ``d``, inner width ``f``; the gate is a SiLU, or a GELU with ``gelu``."""

    d: int
    f: int
    gelu: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f)


class GatedFeedForward(nn.Module):
    """Two products side by side, one through the gate's function, then a third."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gelu = config.gelu
        self.gate = nn.Linear(config.d, config.f, bias=False)
        self.up = nn.Linear(config.d, config.f, bias=False)
        self.down = nn.Linear(config.f, config.d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        act = F.gelu if self.gelu else F.silu
        y: Tensor = self.down(act(self.gate(x)) * self.up(x))
        return y


def naive(module: GatedFeedForward, x: Tensor) -> Tensor:
    """Compute the same with the gate's function written out."""
    gate = x @ module.gate.weight.T
    if module.gelu:
        share = (1 + torch.erf(gate / math.sqrt(2))) / 2
    else:
        share = 1 / (1 + torch.exp(-gate))
    hidden = gate * share * (x @ module.up.weight.T)
    return hidden @ module.down.weight.T


def build(
    *, b: int, n: int, d: int, f: int = 1376, gelu: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return GatedFeedForward(Config(d, f, gelu)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="gated_feed_forward",
    title="Gated feed-forward layer (SwiGLU, GeGLU)",
    kind="block",
    family="feed-forward",
    paper="https://arxiv.org/abs/2002.05202",
    symbols=("b", "n", "d", "f"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 1376},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "b*n*d*f", "Shazeer 2020, section 2"),
        Claim("parameters", "layer", "d*f", "Shazeer 2020, section 2"),
        Claim("saved_bytes", "layer", "b*n*(d+f)", "gate, its function, up, product", mode="train"),
    ),
    gives_up="Three products for two; f must shrink by a third to cost the same.",
    options={"gelu": (False, True)},
)
