"""How a tensor lies in memory, as kernels ask for it."""

from __future__ import annotations

from costlab.algebra import Size, as_expr
from costlab.graph import TensorSpec


def is_contiguous(spec: TensorSpec, order: tuple[int, ...] | None = None) -> bool:
    """Whether the dimensions, taken in ``order``, lie densely, the last one fastest.

    A dimension of size 1 may have any stride.
    """
    expected: Size = 1
    for i in reversed(order or tuple(range(len(spec.shape)))):
        if spec.shape[i] == 1:
            continue
        if as_expr(spec.stride[i]) != as_expr(expected):
            return False
        expected = expected * spec.shape[i]
    return True


def copy_bytes(spec: TensorSpec, order: tuple[int, ...] | None = None) -> Size:
    """What ``contiguous()`` allocates: nothing if the tensor lies so already."""
    return 0 if is_contiguous(spec, order) else spec.nbytes
