"""Between ``[b, n, d]`` and one row of width k for each of h heads, ``[b, h, n, k]``."""

from __future__ import annotations

import torch
from torch import Tensor


def split_heads(x: Tensor, heads: int) -> Tensor:
    """View ``[b, n, h*k]`` as ``[b, h, n, k]``, without a copy."""
    return torch.unflatten(x, -1, (heads, x.shape[-1] // heads)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Lay ``[b, h, n, k]`` out as ``[b, n, h*k]``; a copy unless heads are already innermost."""
    return x.transpose(1, 2).flatten(2)
