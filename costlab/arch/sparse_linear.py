"""2:4 sparsity: of every four weights in a row two are left, stored with their places in 2 bits.

Mishra et al. 2021, "Accelerating sparse deep neural networks", section 3,
https://arxiv.org/abs/2104.08378.

Shapes: b batch, n positions, d width, f outputs.
    x          [b, n, d]
    y          [b, n, f]
    values     [f, d/2], trained
    places     [f, d/8] uint8, four places a byte; they stay as they were chosen

In 16 bits a matrix takes 9/16 of its dense size. Only GPUs with sparse tensor cores multiply by
it as it is, at up to twice the rate; here, as anywhere else, it is written out before each
product, which is then a dense one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.errors import SizeError
from costlab.i18n import _


@dataclass(frozen=True, slots=True)
class Config:
    """``d`` inputs, whole bytes of places, and ``f`` outputs."""

    d: int
    f: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f)
        if self.d % 8:
            near = sorted({max(1, self.d // 8) * 8, (self.d // 8 + 1) * 8})
            raise SizeError(
                _("the width d must be a multiple of 8: places fill whole bytes"),
                given=f"d={self.d}",
                allowed="d = " + ", ".join(map(str, near)),
            )


def compress(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Values and places of the two largest of every four weights of ``weight`` [f, d]."""
    fours = torch.unflatten(weight, -1, (-1, 4))
    chosen = fours.abs().topk(2, dim=-1).indices.sort(dim=-1).values
    values = fours.gather(-1, chosen).flatten(-2)
    quads = torch.unflatten(chosen.flatten(-2).to(torch.uint8), -1, (-1, 4))
    shifts = torch.arange(0, 8, 2, dtype=torch.uint8, device=weight.device)
    return values, (quads << shifts).sum(-1, dtype=torch.uint8)


def _unpacked(places: Tensor) -> Tensor:
    """Places [f, d/4, 2] as indices into groups of four."""
    shifts = torch.arange(0, 8, 2, dtype=torch.uint8, device=places.device)
    quads = (places[..., None] >> shifts) & 3
    return torch.unflatten(quads.flatten(-2), -1, (-1, 2)).to(torch.int64)


def write_out(values: Tensor, places: Tensor) -> Tensor:
    """The matrix [f, d] with zeros where weights were taken out."""
    rows, half = values.shape
    fours = values.new_zeros(rows, half // 2, 4)
    return fours.scatter_(-1, _unpacked(places), values.view(rows, -1, 2)).flatten(-2)


class _WrittenOut(torch.autograd.Function):
    """x W^T with W written out for the product alone, and again for the gradient of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(x, values, places)
        return F.linear(x, write_out(values, places))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        x, values, places = ctx.saved_tensors
        rows = upstream[0] @ write_out(values, places)
        dense = upstream[0].flatten(0, -2).t() @ x.flatten(0, -2)
        fours = torch.unflatten(dense, -1, (-1, 4))
        return rows, fours.gather(-1, _unpacked(places)).flatten(-2), None


class SparseLinear(nn.Module):
    """A random matrix of which the smaller two of every four weights are taken out."""

    places: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        values, places = compress(torch.randn(config.f, config.d) / config.d**0.5)
        self.values = nn.Parameter(values)
        self.register_buffer("places", places)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = _WrittenOut.apply(x, self.values, self.places)  # type: ignore[no-untyped-call]
        return y


def naive(module: SparseLinear, x: Tensor) -> Tensor:
    """Compute the same one weight at a time."""
    rows, half = module.values.shape
    outputs = []
    for row in range(rows):
        y = torch.zeros_like(x[..., 0])
        for number in range(half):
            place = int(module.places[row, number // 4]) >> 2 * (number % 4) & 3
            y = y + x[..., number // 2 * 4 + place] * module.values[row, number]
        outputs.append(y)
    return torch.stack(outputs, dim=-1)


def build(*, b: int, n: int, d: int, f: int = 2048) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return SparseLinear(Config(d, f)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="sparse_linear",
    title="Linear layer with 2:4 sparse weights",
    kind="technique",
    family="compression",
    paper="https://arxiv.org/abs/2104.08378",
    symbols=("b", "n", "d", "f"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 2048},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "layer", "b*n*d*f", "one product, dense where there is no sparse kernel"),
        Claim("parameters", "layer", "d*f", "Mishra et al. 2021, section 3.1"),
    ),
    gives_up="Half of the weights; the matrix is written out before each product.",
    constraints=("8 divides d",),
)
