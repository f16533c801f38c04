"""ALiBi: scores fall with the distance, by a slope for each head.

Press et al. 2021, "Train short, test long", section 3, https://arxiv.org/abs/2108.12409. Head i of
h has the slope 2^(-8 i/h); later keys are hidden.

Shapes: b batch, n positions, h heads.
    scores     [b, h, n, n], of queries and keys
    out        [b, h, n, n]
    bias       [h, n, n], made for each pass

No parameters, and nothing is added to the input or turned. The bias is for scores in memory: fused
kernels that take it as a mask read it, those that know it make it themselves.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


class ALiBi(nn.Module):
    """Scores plus slope times (key - query), later keys at minus infinity."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, scores: Tensor) -> Tensor:
        n, like = scores.shape[-1], scores.dtype
        head = torch.arange(1, self.heads + 1, dtype=like, device=scores.device)
        position = torch.arange(n, dtype=like, device=scores.device)
        distance = position - position[:, None]
        distance.masked_fill_(distance > 0, -torch.inf)
        biased: Tensor = scores + distance * torch.exp2(-8 * head / self.heads)[:, None, None]
        return biased


def naive(module: ALiBi, scores: Tensor) -> Tensor:
    """Compute the same one head and one query at a time."""
    heads = []
    for head in range(module.heads):
        slope = 2 ** (-8 * (head + 1) / module.heads)
        rows = []
        for query in range(scores.shape[-1]):
            past = torch.arange(query + 1, dtype=scores.dtype) - query
            hidden = torch.full((scores.shape[-1] - query - 1,), -torch.inf, dtype=scores.dtype)
            rows.append(scores[:, head, query] + torch.cat((slope * past, hidden)))
        heads.append(torch.stack(rows, dim=1))
    return torch.stack(heads, dim=1)


def build(*, b: int, n: int, h: int = 8) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and scores ``[b, h, n, n]``."""
    check_positive(b=b, n=n, h=h)
    return ALiBi(h), (torch.randn(b, h, n, n),)


SPEC = ArchitectureSpec(
    name="alibi",
    title="Attention with linear biases (ALiBi)",
    kind="position",
    family="positions",
    paper="https://arxiv.org/abs/2108.12409",
    symbols=("b", "n", "h"),
    defaults={"b": 1, "n": 1024, "h": 8},
    modes=("forward", "train"),
    claims=(Claim("flop", "layer", "b*h*n**2", "Press et al. 2021, section 3"),),
    gives_up="Far keys count less, whatever they hold.",
)
