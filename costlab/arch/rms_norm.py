"""Root mean square normalisation over the width: x / sqrt(mean(x**2) + eps) * gain.

Zhang and Sennrich 2019, "Root mean square layer normalization", https://arxiv.org/abs/1910.07467.

Shapes: b batch, n positions, d width.
    x, y       [b, n, d]

d parameters. Nothing mixes positions, so there is no core.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` and the ``eps`` added to the mean square."""

    d: int
    eps: float = 1e-6

    def __post_init__(self) -> None:
        check_positive(d=self.d)


class RMSNorm(nn.Module):
    """PyTorch's ``nn.RMSNorm``, which is several operators on a CPU and one on a GPU."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(config.d, eps=config.eps)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(x)
        return y


def naive(module: RMSNorm, x: Tensor) -> Tensor:
    """Compute the same from the sum of squares."""
    assert module.norm.eps is not None
    mean_square = (x * x).sum(-1, keepdim=True) / x.shape[-1]
    return x / (mean_square + module.norm.eps).sqrt() * module.norm.weight


def build(*, b: int, n: int, d: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return RMSNorm(Config(d)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="rms_norm",
    title="RMS normalisation",
    kind="block",
    family="normalisation",
    paper="https://arxiv.org/abs/1910.07467",
    symbols=("b", "n", "d"),
    defaults={"b": 1, "n": 1024, "d": 512},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "b*n*d", "Zhang and Sennrich 2019, equation 4"),
        Claim("parameters", "layer", "d", "Zhang and Sennrich 2019, equation 4"),
    ),
    gives_up="No re-centring; bound by memory traffic.",
)
