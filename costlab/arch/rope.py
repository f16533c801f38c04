"""Rotary positions: channels of queries and keys turn in pairs by an angle of their position.

Su et al. 2021, "RoFormer", section 3.2, https://arxiv.org/abs/2104.09864, in the layout of the
Llama models. ``scaled`` stretches the long wavelengths as Llama 3.1 does; the other stretched
variants of ``costlab.ops.rotary`` differ from it in the k/2 frequencies alone.

Shapes: b batch, n positions, h query heads, g key heads, k head size.
    q, out     [b, h, n, k]
    keys, out  [b, g, n, k]
    table      cosines and sines [n, k/2], made for each pass

No parameters. The product of a query and a key depends on their distance alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_even, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.rotary import Scaling, rotate, rotation


@dataclass(frozen=True, slots=True)
class Config:
    """An even head size ``k``, the ``base`` of the angles and how they are stretched."""

    k: int
    base: float = 10000.0
    scaling: Scaling = field(default_factory=Scaling)

    def __post_init__(self) -> None:
        check_even(k=self.k)


class Rotary(nn.Module):
    """Queries and keys, turned."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config

    def forward(self, q: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        c = self.config
        turn = rotation(q, 0, q.shape[-2], c.k, c.base, c.scaling)
        return rotate(q, turn), rotate(keys, turn)


def naive(module: Rotary, q: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the same as products of complex numbers of length 1."""
    c = module.config
    cos, sin = rotation(q, 0, q.shape[-2], c.k, c.base, c.scaling)
    turn, half = torch.complex(cos, sin), c.k // 2
    turned = [torch.complex(x[..., :half], x[..., half:]) * turn for x in (q, keys)]
    first, second = (torch.cat((z.real, z.imag), dim=-1) for z in turned)
    return first, second


def build(
    *, b: int, n: int, h: int = 8, g: int = 8, k: int = 64, scaled: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module, queries ``[b, h, n, k]`` and keys ``[b, g, n, k]``."""
    check_positive(b=b, n=n, h=h, g=g)
    scaling = Scaling("llama3", 8.0) if scaled else Scaling()
    return Rotary(Config(k, scaling=scaling)), (torch.randn(b, h, n, k), torch.randn(b, g, n, k))


SPEC = ArchitectureSpec(
    name="rope",
    title="Rotary positions (RoPE), plain or stretched",
    kind="position",
    family="positions",
    paper="https://arxiv.org/abs/2104.09864",
    symbols=("b", "n", "h", "g", "k"),
    defaults={"b": 1, "n": 1024, "h": 8, "g": 8, "k": 64},
    modes=("forward", "train"),
    claims=(Claim("flop", "layer", "b*h*n*k + b*g*n*k", "Su et al. 2021, equation 34"),),
    gives_up="A pass over all queries and keys in every layer.",
    constraints=("2 divides k",),
    options={"scaled": (False, True)},
)
