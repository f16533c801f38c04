"""Rows in another order and back, with gathers in both passes and no scatter.

Autograd's backward of a gather adds row by row. Where the order is a permutation, perhaps of
several copies of each row, the backward is a gather by the inverse and a sum over the copies.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def inverse(order: Tensor) -> Tensor:
    """The permutation that undoes ``order`` [N]."""
    back = torch.empty_like(order)
    back[order] = torch.arange(order.shape[0], device=order.device)
    return back


def copies_in_order(rows: Tensor, order: Tensor, back: Tensor, copies: int) -> Tensor:
    """Copy ``order[i] % copies`` of row ``order[i] // copies``, for each i.

    Args:
        rows: ``[N, d]``.
        order: a permutation of ``N * copies`` numbers.
        back: its :func:`inverse`.
        copies: how many there are of each row.

    Returns:
        ``[N * copies, d]``.
    """
    result: Tensor = _CopiesInOrder.apply(rows, order, back, copies)  # type: ignore[no-untyped-call]
    return result


class _CopiesInOrder(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, order: Tensor, back: Tensor, copies: int) -> Tensor:
        ctx.save_for_backward(back)
        ctx.copies = copies
        return rows.index_select(0, order // copies)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None, None]:
        (back,) = ctx.saved_tensors
        grad = grads[0].index_select(0, back)
        return torch.unflatten(grad, 0, (-1, ctx.copies)).sum(1), None, None, None


def reordered(rows: Tensor, order: Tensor, back: Tensor) -> Tensor:
    """Rows ``[N, d]`` in the given order, a permutation with the inverse ``back``."""
    result: Tensor = _Reordered.apply(rows, order, back)  # type: ignore[no-untyped-call]
    return result


class _Reordered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, order: Tensor, back: Tensor) -> Tensor:
        ctx.save_for_backward(back)
        return rows.index_select(0, order)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None]:
        (back,) = ctx.saved_tensors
        return grads[0].index_select(0, back), None, None
