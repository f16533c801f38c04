"""Products of rows with the matrix of their group, for rows that lie sorted by group.

``grouped_product`` is one operator, ``costlab::grouped_product``, whose shapes do not depend on
how many rows each group has: the arithmetic is 2 N i o whatever the routing. It runs group after
group into slices of one result; on CUDA it is torch's grouped kernel where that takes the widths.
Backward is the same operator with the matrices turned over, and ``grouped_outer`` for theirs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import register_flop_formula

_ops: Any = torch.ops.costlab
_new_library: Any = torch.library.Library  # torch gives it no types
_LIBRARY = _new_library("costlab", "FRAGMENT")
_LIBRARY.define("grouped_product(Tensor rows, Tensor matrices, Tensor ends) -> Tensor")
_LIBRARY.define("grouped_outer(Tensor left, Tensor right, Tensor ends) -> Tensor")


def grouped_product(rows: Tensor, matrices: Tensor, ends: Tensor) -> Tensor:
    """``rows[a:b] @ matrices[g]`` for each group g, whose rows end before ``ends[g]``.

    Args:
        rows: ``[N, i]``, sorted by group.
        matrices: ``[groups, i, o]``.
        ends: ``[groups]`` integers that do not fall; the last is N.

    Returns:
        ``[N, o]``.
    """
    result: Tensor = _GroupedProduct.apply(rows, matrices, ends)  # type: ignore[no-untyped-call]
    return result


class _GroupedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, matrices: Tensor, ends: Tensor) -> Tensor:
        ctx.save_for_backward(rows, matrices, ends)
        result: Tensor = _ops.grouped_product(rows, matrices, ends)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, Tensor | None, None]:
        rows, matrices, ends = ctx.saved_tensors
        (grad,) = grads
        for_rows, for_matrices, _ = ctx.needs_input_grad
        return (
            _ops.grouped_product(grad, matrices.transpose(1, 2), ends) if for_rows else None,
            _ops.grouped_outer(rows, grad, ends) if for_matrices else None,
            None,
        )


def _product_on_cpu(rows: Tensor, matrices: Tensor, ends: Tensor) -> Tensor:
    result = rows.new_empty(rows.shape[0], matrices.shape[-1])
    start = 0
    for group, end in enumerate(ends.tolist()):
        torch.mm(rows[start:end], matrices[group], out=result[start:end])
        start = end
    return result


def _product_on_cuda(rows: Tensor, matrices: Tensor, ends: Tensor) -> Tensor:
    fits = all(x.shape[i] * x.element_size() % 16 == 0 for x in (rows, matrices) for i in (-1, -2))
    if rows.dtype == torch.bfloat16 and fits:
        result: Tensor = torch.ops.aten._grouped_mm(rows, matrices, ends.int())
        return result
    return _product_on_cpu(rows, matrices, ends)


def _outer(left: Tensor, right: Tensor, ends: Tensor) -> Tensor:
    """``left[a:b]^T right[a:b]`` of each group: ``[groups, i, o]``, zeros for an empty one."""
    result = left.new_empty(ends.shape[0], left.shape[1], right.shape[1])
    start = 0
    for group, end in enumerate(ends.tolist()):
        torch.mm(left[start:end].t(), right[start:end], out=result[group])
        start = end
    return result


def _product_shape(rows: Tensor, matrices: Tensor, ends: Tensor) -> Tensor:
    return rows.new_empty(rows.shape[0], matrices.shape[-1])


def _outer_shape(left: Tensor, right: Tensor, ends: Tensor) -> Tensor:
    return left.new_empty(ends.shape[0], left.shape[1], right.shape[1])


def _register() -> None:
    _LIBRARY.impl("grouped_product", _product_on_cpu, "CPU")
    _LIBRARY.impl("grouped_product", _product_on_cuda, "CUDA")
    for key in ("CPU", "CUDA"):
        _LIBRARY.impl("grouped_outer", _outer, key)
    counted: Any = register_flop_formula
    shaped: Any = torch.library.register_fake
    shaped("costlab::grouped_product")(_product_shape)
    shaped("costlab::grouped_outer")(_outer_shape)

    @counted(_ops.grouped_product)  # type: ignore[untyped-decorator]
    def _product_flop(rows: Any, matrices: Any, *_: Any, **__: Any) -> int:
        return 2 * int(rows[0]) * int(matrices[1]) * int(matrices[2])

    @counted(_ops.grouped_outer)  # type: ignore[untyped-decorator]
    def _outer_flop(left: Any, right: Any, *_: Any, **__: Any) -> int:
        return 2 * int(left[0]) * int(left[1]) * int(right[1])


_register()
