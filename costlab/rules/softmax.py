"""Softmax and its relatives over one dimension, forward and backward.

Per element: maximum, subtraction, exponential, sum, division (5); log-softmax subtracts the
logarithm of the sum in place of the division. Per row there is one more: the logarithm. The
backward pass multiplies by the output, sums, subtracts and multiplies (4). The kernels read
contiguous tensors and copy others first.
"""

from __future__ import annotations

from costlab.algebra import Size, product, total
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, rule, tensors_of, written_bytes
from costlab.rules.layout import copy_bytes

SOFTMAX_OPERATIONS = 5
SOFTMAX_BACKWARD_OPERATIONS = 4
LOGSUMEXP_OPERATIONS = 4


def rows(tensor: TensorSpec, dim: object) -> Size:
    """How many rows a reduction over ``dim`` (one, several, or None for all) leaves."""
    rank = len(tensor.shape)
    if dim is None or dim == () or rank == 0:
        return 1
    dims = dim if isinstance(dim, tuple) else (dim,)
    reduced = {d % rank for d in dims if isinstance(d, int)}
    return product(size for i, size in enumerate(tensor.shape) if i not in reduced)


@rule("aten._softmax", "aten.softmax", "aten._safe_softmax")
def _softmax(call: Call) -> Cost:
    return Cost(
        "softmax",
        flop_other=call.tensor("self").numel * SOFTMAX_OPERATIONS,
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
        scratch_bytes=copy_bytes(call.tensor("self")),
    )


@rule("aten._log_softmax", "aten.log_softmax")
def _log_softmax(call: Call) -> Cost:
    tensor = call.tensor("self")
    return Cost(
        "softmax",
        flop_other=tensor.numel * SOFTMAX_OPERATIONS + rows(tensor, call.args["dim"]),
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
        scratch_bytes=copy_bytes(tensor),
    )


@rule("aten._masked_softmax")
def _masked_softmax(call: Call) -> Cost:
    return Cost(
        "softmax",
        flop_other=call.tensor("self").numel * (SOFTMAX_OPERATIONS + 1),
        bytes_read=bytes_of(call, "self", "mask"),
        bytes_written=written_bytes(call),
    )


@rule("aten._softmax_backward_data", "aten._log_softmax_backward_data")
def _softmax_backward(call: Call) -> Cost:
    return Cost(
        "softmax",
        flop_other=call.outs[0].numel * SOFTMAX_BACKWARD_OPERATIONS,
        bytes_read=bytes_of(call, "grad_output", "output"),
        bytes_written=written_bytes(call),
        scratch_bytes=total(copy_bytes(t) for t in tensors_of(call, "grad_output", "output")),
    )


@rule("aten._masked_softmax_backward")
def _masked_softmax_backward(call: Call) -> Cost:
    return Cost(
        "softmax",
        flop_other=call.outs[0].numel * SOFTMAX_BACKWARD_OPERATIONS,
        bytes_read=bytes_of(call, "grad_output", "output", "mask"),
        bytes_written=written_bytes(call),
    )


@rule("aten.logsumexp")
def _logsumexp(call: Call) -> Cost:
    """Maximum, subtraction, exponential, sum per element; logarithm and addition per row.

    The kernel is made of those operators: it holds the exponentials and the maxima.
    """
    tensor = call.tensor("self")
    return Cost(
        "softmax",
        flop_other=tensor.numel * LOGSUMEXP_OPERATIONS + 2 * call.outs[0].numel,
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
        scratch_bytes=tensor.nbytes + written_bytes(call),
    )
