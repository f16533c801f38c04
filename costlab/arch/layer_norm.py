"""Layer normalisation over the width: (x - mean) / sqrt(variance + eps) * gain + offset.

Ba et al. 2016, "Layer normalization", https://arxiv.org/abs/1607.06450.

Shapes: b batch, n positions, d width.
    x, y       [b, n, d]

2 d parameters. Nothing mixes positions, so there is no core.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` and the ``eps`` added to the variance."""

    d: int
    eps: float = 1e-5

    def __post_init__(self) -> None:
        check_positive(d=self.d)


class LayerNorm(nn.Module):
    """PyTorch's fused ``nn.LayerNorm``."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d, eps=config.eps)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(x)
        return y


def naive(module: LayerNorm, x: Tensor) -> Tensor:
    """Compute the same from the mean and the variance."""
    centred = x - x.mean(-1, keepdim=True)
    scale = (centred.pow(2).mean(-1, keepdim=True) + module.norm.eps).rsqrt()
    return centred * scale * module.norm.weight + module.norm.bias


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return LayerNorm(Config(d)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="layer_norm",
    title="Layer normalisation",
    kind="block",
    family="normalisation",
    paper="https://arxiv.org/abs/1607.06450",
    symbols=("b", "n", "d"),
    defaults={"b": 1, "n": 1024, "d": 512},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "b*n*d", "Ba et al. 2016, equation 3"),
        Claim("parameters", "layer", "d", "Ba et al. 2016, section 3"),
    ),
    gives_up="Bound by memory traffic, whatever the machine computes.",
)
