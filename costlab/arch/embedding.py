"""Token embedding: one learned row of width d for each of V tokens.

Bengio et al. 2003, "A neural probabilistic language model", section 2,
https://www.jmlr.org/papers/v3/bengio03a.html.

Shapes: b batch, n positions, d width, V vocabulary.
    tokens     [b, n], integers below V
    y          [b, n, d]

V d parameters, of which a pass reads b n rows; its gradient is dense, V d numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` and vocabulary ``V``."""

    d: int
    V: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, V=self.V)


class Embedding(nn.Module):
    """A look-up in the table of rows."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.table = nn.Embedding(config.V, config.d)

    def forward(self, tokens: Tensor) -> Tensor:
        y: Tensor = self.table(tokens)
        return y


def naive(module: Embedding, tokens: Tensor) -> Tensor:
    """Compute the same as a product with one-hot rows."""
    table = module.table.weight
    chosen = tokens[..., None] == torch.arange(table.shape[0])
    return chosen.to(table.dtype) @ table


def build(*, b: int, n: int, d: int, V: int = 32000) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and tokens ``[b, n]``."""
    check_positive(b=b, n=n)
    return Embedding(Config(d, V)), (torch.randint(V, (b, n)),)


SPEC = ArchitectureSpec(
    name="embedding",
    title="Token embedding",
    kind="block",
    family="embedding",
    paper="https://www.jmlr.org/papers/v3/bengio03a.html",
    symbols=("b", "n", "d", "V"),
    defaults={"b": 1, "n": 1024, "d": 512, "V": 32000},
    modes=("forward", "train"),
    claims=(
        Claim("parameters", "layer", "V*d", "Bengio et al. 2003, section 2"),
        Claim("peak_bytes", "layer", "V*d + b*n*d", "table and rows"),
    ),
    gives_up="Holds a row for every token, of which a pass reads few.",
)
