"""The output head: one logit for each of V tokens, x W^T.

With ``tied`` the head owns nothing: the embedding's table is its matrix (Press and Wolf 2017,
"Using the output embedding to improve language models", https://arxiv.org/abs/1608.05859).

Shapes: b batch, n positions, d width, V vocabulary.
    x          [b, n, d]
    table      [V, d], an input where tied, else a parameter
    y          [b, n, V]

V d parameters, or none where tied; a tied head still adds its part to the table's gradient.
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
    """Width ``d``, vocabulary ``V``, and whether the matrix is the embedding's."""

    d: int
    V: int
    tied: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, V=self.V)


class OutputHead(nn.Module):
    """A product with a matrix of its own, or with the ``table`` that a tied head is given."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.proj = None if config.tied else nn.Linear(config.d, config.V, bias=False)

    def forward(self, x: Tensor, table: Tensor | None = None) -> Tensor:
        weight = table if self.proj is None else self.proj.weight
        assert weight is not None
        return F.linear(x, weight)


def naive(module: OutputHead, x: Tensor, table: Tensor | None = None) -> Tensor:
    """Compute the same, one token's logit after another."""
    weight = table if module.proj is None else module.proj.weight
    assert weight is not None
    return torch.stack([(x * row).sum(-1) for row in weight], dim=-1)


def build(
    *, b: int, n: int, d: int, V: int = 32000, tied: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``; where tied, the table ``[V, d]`` too."""
    check_positive(b=b, n=n)
    module = OutputHead(Config(d, V, tied))
    x = torch.randn(b, n, d)
    return module, (x, torch.randn(V, d)) if tied else (x,)


SPEC = ArchitectureSpec(
    name="output_head",
    title="Output head over the vocabulary",
    kind="block",
    family="embedding",
    paper="https://arxiv.org/abs/1608.05859",
    symbols=("b", "n", "d", "V"),
    defaults={"b": 1, "n": 1024, "d": 512, "V": 32000},
    modes=("forward", "train"),
    claims=(Claim("flop", "layer", "b*n*d*V", "Press and Wolf 2017, section 2"),),
    gives_up="One logit of each token at each position: b n V numbers.",
    options={"tied": (False, True)},
)
