"""Sequences cut into blocks, and blocks with their neighbours as overlapping views."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def block_count(length: int, size: int) -> int:
    """How many blocks of ``size`` cover ``length`` positions."""
    return (length + size - 1) // size


def pad_positions(x: Tensor, before: int, after: int, value: float = 0.0) -> Tensor:
    """Add positions before and after those of ``x`` [..., n, k]; the result is contiguous."""
    if before or after:
        return F.pad(x, (0, 0, before, after), value=value)
    return x.contiguous()


def blocks(x: Tensor, size: int) -> Tensor:
    """Cut ``[..., n, k]`` into ``[..., ceil(n/size), size, k]``, the last block padded with 0."""
    count = block_count(x.shape[-2], size)
    padded = pad_positions(x, 0, count * size - x.shape[-2])
    return torch.unflatten(padded, -2, (count, size))


def block_spans(x: Tensor, size: int, before: int, after: int = 0) -> Tensor:
    """Each block of ``x`` [..., n, k] with whole blocks around it, ``[..., blocks, span, k]``.

    ``before`` and ``after`` count neighbour blocks, so span = (before + 1 + after) * size.
    Positions outside the sequence are 0. The spans overlap in one padded copy of ``x``; they are
    a view of it, not copies.
    """
    count = block_count(x.shape[-2], size)
    padded = pad_positions(x, before * size, (count + after) * size - x.shape[-2])
    return padded.unfold(-2, (before + 1 + after) * size, size).transpose(-2, -1)
