"""Mixture of experts: each token goes to t of e gated feed-forward layers, and drops none.

Shazeer et al. 2017, "Outrageously large neural networks", https://arxiv.org/abs/1701.06538, with
the router of Mixtral (Jiang et al. 2024, https://arxiv.org/abs/2401.04088, section 2.1: softmax
over the t best logits) and, with ``shared``, one more expert that every token passes
(DeepSeekMoE, Dai et al. 2024, https://arxiv.org/abs/2401.06066, section 3.2).

Shapes: b batch, n positions, d width, f width of an expert, e experts, t experts per token.
    x, y             [b, n, d]
    logits           [b*n, e]
    rows             [b*n*t, d], sorted by expert

Token copies are sorted by expert and meet their expert's matrices in grouped products, so no
shape depends on the routing: FLOP and memory are exact for any. What does depend on it is which
matrices a pass reads; the formulas take every expert to be chosen by some token (balanced
routing), which is an upper bound where tokens are few. e (3 d f) + d e parameters, of which a
token uses t (3 d f) + d e.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch import gated_feed_forward
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.errors import SizeError
from costlab.i18n import _
from costlab.ops.grouped_product import grouped_product
from costlab.ops.row_order import copies_in_order, inverse, reordered


@dataclass(frozen=True, slots=True)
class Config:
    """``e`` experts of width ``f``, ``t`` for each token, and whether one is ``shared`` by all."""

    d: int
    f: int
    e: int
    t: int
    shared: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f, e=self.e, t=self.t)
        if self.t > self.e:
            raise SizeError(
                _("a token cannot go to more experts than there are"),
                given=f"t={self.t}, e={self.e}",
                allowed=f"t <= {self.e}",
            )


class Experts(nn.Module):
    """The experts' matrices, ``[e, ...]``, and the gated layer over rows sorted by expert."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, f, e = config.d, config.f, config.e
        self.gate = nn.Parameter(torch.randn(e, f, d) * d**-0.5)
        self.up = nn.Parameter(torch.randn(e, f, d) * d**-0.5)
        self.down = nn.Parameter(torch.randn(e, d, f) * f**-0.5)

    def forward(self, rows: Tensor, ends: Tensor) -> Tensor:
        gate = grouped_product(rows, self.gate.transpose(1, 2), ends)
        up = grouped_product(rows, self.up.transpose(1, 2), ends)
        return grouped_product(F.silu(gate) * up, self.down.transpose(1, 2), ends)


class MixtureOfExperts(nn.Module):
    """Router, sort by expert, experts, and the weighted sum of each token's t results."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.router = nn.Linear(config.d, config.e, bias=False)
        self.experts = Experts(config)
        self.shared: nn.Module | None = None
        if config.shared:
            shape = gated_feed_forward.Config(config.d, config.f)
            self.shared = gated_feed_forward.GatedFeedForward(shape)

    def forward(self, x: Tensor) -> Tensor:
        tokens, t = x.flatten(0, 1), self.config.t
        best, expert = self.router(tokens).topk(t, dim=-1)
        weight = best.softmax(-1)
        of_copy, order = expert.flatten().sort(stable=True)
        ends = torch.searchsorted(of_copy, torch.arange(self.config.e, device=x.device), right=True)
        back = inverse(order)
        rows = reordered(self.experts(copies_in_order(tokens, order, back, t), ends), back, order)
        mixed = (torch.unflatten(rows, 0, (-1, t)) * weight[..., None]).sum(1)
        if self.shared is not None:
            mixed = mixed + self.shared(tokens)
        y: Tensor = mixed.view_as(x)
        return y


def naive(module: MixtureOfExperts, x: Tensor) -> Tensor:
    """Compute the same token by token, every expert's layer written out."""
    experts, t = module.experts, module.config.t
    rows = []
    for token in x.flatten(0, 1):
        logits = module.router.weight @ token
        chosen = sorted(range(len(logits)), key=lambda i: -float(logits[i].detach()))[:t]
        total = sum(logits[i].exp() for i in chosen)
        row = torch.zeros_like(token)
        for i in chosen:
            gate, up = experts.gate[i] @ token, experts.up[i] @ token
            row = row + logits[i].exp() / total * (experts.down[i] @ (gate * gate.sigmoid() * up))
        if isinstance(module.shared, gated_feed_forward.GatedFeedForward):
            row = row + gated_feed_forward.naive(module.shared, token)
        rows.append(row)
    return torch.stack(rows).view_as(x)


def build(
    *, b: int, n: int, d: int, f: int = 1376, e: int = 8, t: int = 2, shared: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return MixtureOfExperts(Config(d, f, e, t, shared)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="mixture_of_experts",
    title="Mixture of experts, dropless",
    kind="block",
    family="feed-forward",
    paper="https://arxiv.org/abs/1701.06538",
    symbols=("b", "n", "d", "f", "e", "t"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 1376, "e": 8, "t": 2},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "f", "Shazeer et al. 2017, section 2", variables=("f",)),
        Claim("flop", "layer", "d", "Shazeer et al. 2017, section 2", variables=("d",)),
        Claim("parameters", "layer", "e*d*f", "Shazeer et al. 2017, section 2"),
    ),
    gives_up="Memory holds every expert; a token uses few, and a small batch reads most of them.",
    constraints=("t <= e",),
    options={"shared": (False, True)},
)
