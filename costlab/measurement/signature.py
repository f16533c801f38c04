"""A few numbers that stand for a pass's outputs, to compare across calls and processes.

Needs torch to be made; comparing needs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

Signature = tuple[tuple[float, ...], ...]
"""For each floating-point output: its size, its norm and three random projections of it."""

_MOST_ELEMENTS = 1 << 16
_PROJECTIONS = 3
_SEED = 11


def signature_of(tensors: Sequence[torch.Tensor]) -> Signature:
    """The signature of the floating-point ones of ``tensors``, of at most 65536 elements each."""
    import torch

    found = []
    for tensor in tensors:
        if not tensor.is_floating_point():
            continue
        flat = tensor.detach().flatten()
        step = max(1, flat.numel() // _MOST_ELEMENTS)
        # The same directions in every process, whatever the program does with the random numbers.
        generator = torch.Generator().manual_seed(_SEED)
        values = flat[::step].cpu().double()
        directions = torch.randn(
            _PROJECTIONS, values.numel(), dtype=torch.float64, generator=generator
        )
        projected = (directions @ values).tolist()
        found.append((float(flat.numel()), float(values.norm()), *projected))
    return tuple(found)


def agree(one: Signature, other: Signature, tolerance: float) -> bool:
    """Whether both stand for the same outputs, to ``tolerance`` of their norms.

    What holds NaN agrees with nothing.
    """
    if len(one) != len(other):
        return False
    for left, right in zip(one, other, strict=True):
        norm = max(left[1], right[1])
        if left[0] != right[0] or not all(
            math.isfinite(b) and abs(a - b) <= tolerance * norm
            for a, b in zip(left[1:], right[1:], strict=True)
        ):
            return False
    return True
