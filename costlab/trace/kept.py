"""How many entries of a matrix a mask keeps, counted where the mask acts.

A mask is seen in operators that leave exact zeros: softmax and exponential of scores that were
set to minus infinity (or any number far below the rest), triangles, fills and choices with 0.
Zeros that come of the data, such as a rectified activation's, are not counted as masked.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_FAR = 1000.0  # a score so far below the largest was put there; one by nature ends near 100
_TRIANGLES = ("aten.tril", "aten.triu", "aten.tril_", "aten.triu_")
_FILLS = ("aten.masked_fill", "aten.masked_fill_")


def kept_entries(packet: str, args: tuple[Any, ...], out: Tensor) -> int | None:
    """Entries of ``out`` that a mask keeps; None if ``packet`` (without overload) masks nothing.

    An operator in place has overwritten its argument already.
    """
    masked = _masked(packet, args, out)
    if masked is None:
        return None
    count = int(torch.count_nonzero(masked)) * (out.numel() // max(masked.numel(), 1))
    return out.numel() - count if count else None


def seen_entries(mask: Tensor, query: Tensor, keys: int) -> int:
    """Entries of scores [b, h, n, keys] that an attention mask lets useful queries see.

    ``mask`` is boolean or additive and broadcasts; ``query`` is [b, h, n, k]. Queries of zeros at
    the end of their sequence are padding, whose results nobody needs.
    """
    seen = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    useful = ~_padding(query).unsqueeze(-1)
    return int(torch.count_nonzero(seen.expand(*query.shape[:3], keys) & useful))


def _padding(query: Tensor) -> Tensor:
    """True for the last queries [b, h, n] of a tensor if they are zeros and not all are."""
    zeros = (query == 0).all(-1)
    last = zeros.flip(-1).cumprod(-1).flip(-1).bool()
    return last & ~zeros.all()


def _masked(packet: str, args: tuple[Any, ...], out: Tensor) -> Tensor | None:
    """True where ``out`` is masked; of ``out``'s shape or of one that is repeated over it."""
    if packet == "aten._softmax":
        scores = args[0]
        return torch.logical_and(out == 0, scores < scores.amax(args[1], keepdim=True) - _FAR)
    if packet == "aten.exp":
        return torch.logical_and(out == 0, args[0] < -_FAR)
    if packet == "aten.exp_":
        return out == 0
    if packet in _TRIANGLES:
        diagonal = args[1] if len(args) > 1 else 0
        ones = torch.ones(out.shape[-2:], dtype=torch.bool, device=out.device)
        kept = ones.tril(diagonal) if "tril" in packet else ones.triu(diagonal)
        return ~kept
    if packet in _FILLS and _number(args[2]) == 0:
        return torch.as_tensor(args[1].expand(out.shape))
    if packet == "aten.where" and len(args) == 3:
        condition = args[0].expand(out.shape)
        for zero, other, masked in ((args[1], args[2], condition), (args[2], args[1], ~condition)):
            # Zeros beside minus infinity are the entries of an additive mask that are kept.
            if _number(zero) == 0 and not _number(other) < -_FAR:
                return torch.as_tensor(masked)
    return None


def _number(value: Any) -> float:
    """A single number's value; nan for a tensor of several."""
    if isinstance(value, Tensor):
        return float(value) if value.numel() == 1 else float("nan")
    return float(value)
