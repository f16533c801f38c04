"""A linear layer with weights of 8 or 4 bits and group scales; activations keep their precision.

Frantar et al. 2022, "GPTQ", https://arxiv.org/abs/2210.17323; the products are those of
Dettmers et al. 2023, "QLoRA", section 3, https://arxiv.org/abs/2305.14314: the matrix is written
out before each product, forward and backward, and never kept.

Shapes: b batch, n positions, d width, f outputs, u weights of a row that share a scale.
    x          [b, n, d]
    y          [b, n, f]
    stored     [f, d] int8, or [f, d/2] uint8 with two weights a byte
    scales     [f, d/u]

No parameters: the weights are not trained. With 16-bit scales for 128 weights, 4 bits hold
32/4.125 = 7.76 times less than 32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_even, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.errors import SizeError
from costlab.i18n import _
from costlab.ops.group_scales import dequantise, quantise


@dataclass(frozen=True, slots=True)
class Config:
    """``d`` inputs, ``f`` outputs, groups of ``u`` weights, 8 bits or ``four``."""

    d: int
    f: int
    u: int
    four: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f)
        check_even(u=self.u)
        if self.d % self.u:
            near = sorted({max(1, self.d // self.u) * self.u, (self.d // self.u + 1) * self.u})
            raise SizeError(
                _("a group of u weights must divide the width d"),
                given=f"d={self.d}, u={self.u}",
                allowed="d = " + ", ".join(map(str, near)),
            )


class _WrittenOut(torch.autograd.Function):
    """x W^T with W written out for the product alone, and again for the gradient of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, stored: Tensor, scales: Tensor) -> Tensor:
        ctx.matrix = stored, scales
        return F.linear(x, dequantise(stored, scales))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        return upstream[0] @ dequantise(*ctx.matrix), None, None


class QuantisedLinear(nn.Module):
    """A random matrix, quantised when it is made."""

    stored: Tensor
    scales: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        weight = torch.randn(config.f, config.d) / config.d**0.5
        stored, scales = quantise(weight, config.u, 4 if config.four else 8)
        self.register_buffer("stored", stored)
        self.register_buffer("scales", scales)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = _WrittenOut.apply(x, self.stored, self.scales)  # type: ignore[no-untyped-call]
        return y


def naive(module: QuantisedLinear, x: Tensor) -> Tensor:
    """Compute the same one weight at a time."""
    stored, scales = module.stored, module.scales
    packed = 2 if stored.dtype == torch.uint8 else 1
    width = stored.shape[1] * packed
    group = width // scales.shape[1]
    matrix = torch.empty(stored.shape[0], width, dtype=x.dtype)
    for row in range(matrix.shape[0]):
        for column in range(width):
            value = int(stored[row, column // packed])
            if packed == 2:
                value = (value // 16 if column % 2 else value % 16) - 8
            matrix[row, column] = value * scales[row, column // group]
    return torch.einsum("bnd,fd->bnf", x, matrix)


def build(
    *, b: int, n: int, d: int, f: int = 2048, u: int = 128, four: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return QuantisedLinear(Config(d, f, u, four)), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="quantised_linear",
    title="Linear layer with 8-bit or 4-bit weights and group scales",
    kind="technique",
    family="compression",
    paper="https://arxiv.org/abs/2210.17323",
    symbols=("b", "n", "d", "f", "u"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 2048, "u": 128},
    modes=("forward", "train"),
    claims=(Claim("flop", "layer", "b*n*d*f", "one product"),),
    gives_up="The matrix is written out before each product: less memory, no less traffic.",
    constraints=("u divides d", "2 divides u"),
    options={"four": (False, True)},
)
