"""From the operands of a call to the shape that a machine's rate depends on.

The shapes are those of ``costlab.hardware.calibration_record.SHAPES``.
"""

from __future__ import annotations

from costlab.algebra import Size, product
from costlab.formulas.record import Group

Shape = tuple[Size, ...]


def rate_shape(group: Group) -> Shape:
    """Shape of ``group`` for its kind; empty where the kind has none or operands are missing."""
    operands = group.shapes
    match group.kind:
        case "matmul":
            return _matmul(operands)
        case "attention":
            return _attention(operands, "backward" in group.op)
        case "convolution":
            return _convolution(operands)
        case "recurrent":
            return _recurrent(operands)
    return ()


def rate_name(group: Group) -> str:
    """Name of the rate: the kind, with "_backward" where the kernel is a backward of its own."""
    if group.kind in {"attention", "convolution", "recurrent"} and "backward" in group.op:
        return f"{group.kind}_backward"
    return group.kind


def _matmul(operands: tuple[Shape, ...]) -> Shape:
    """(batch, m, k, n) of the last two matrices: ``addmm`` has its bias before them."""
    matrices = [shape for shape in operands if len(shape) >= 2]
    if len(matrices) < 2:
        return ()
    left, right = matrices[-2], matrices[-1]
    return (product(left[:-2]), left[-2], left[-1], right[-1])


def _attention(operands: tuple[Shape, ...], backward: bool) -> Shape:
    """(batch x heads, queries, keys, head size); the backward has the gradient before q and k."""
    tensors = [shape for shape in operands if len(shape) == 4][int(backward) :]
    if len(tensors) < 2:
        return ()
    query, key = tensors[:2]
    return (query[0] * query[1], query[2], key[2], query[3])


def _convolution(operands: tuple[Shape, ...]) -> Shape:
    """(batch, channels in, channels out, length, kernel) of a one-dimensional convolution."""
    tensors = [shape for shape in operands if len(shape) == 3]
    if len(tensors) < 2:
        return ()
    data, weight = tensors[-2], tensors[-1]
    return (data[0], data[1], weight[0], data[2], weight[2])


def _recurrent(operands: tuple[Shape, ...]) -> Shape:
    """(batch, steps, width in, hidden width) of a fused recurrence over (steps, batch, width)."""
    tensors = [shape for shape in operands if len(shape) == 3]
    weights = [shape for shape in operands if len(shape) == 2]
    if not tensors or not weights:
        return ()
    data = tensors[0]
    return (data[1], data[0], data[2], weights[-1][-1])
