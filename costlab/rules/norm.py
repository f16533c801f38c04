"""Layer, RMS, group, batch and weight normalisation, forward and backward.

Forward per element: the mean's addition; subtract, square, add for the variance; subtract and
scale to normalise; multiply by the weight, add the bias (8 with both). RMS norm leaves out the
mean and the subtractions (4 with a weight). Per row of statistics a few more.
"""

from __future__ import annotations

from dataclasses import replace

from costlab.algebra import Size, product, symbol, total
from costlab.graph import Call
from costlab.rules.base import Cost, bytes_of, rule, tensors_of, written_bytes
from costlab.rules.layout import copy_bytes

NORMALISE = 6
RMS_NORMALISE = 3
PER_ROW = 4  # divide by the count twice, add epsilon, reciprocal root
STATISTICS_BYTES = 4
INPUT_GRADIENT = 9
"""Normalised value (2), sums of g and of g * xhat (3), ``rstd * (g - a - xhat * b)`` (4)."""
RMS_INPUT_GRADIENT = 6
"""Normalised value (1), sum of g * xhat (2), ``rstd * (g - xhat * b)`` (3)."""


def _affine(call: Call) -> int:
    return int(call.has("weight")) + int(call.has("bias"))


def _count(call: Call, name: str) -> int:
    normalized = call.args[name]
    return len(normalized) if isinstance(normalized, tuple) else 1


def _leading(call: Call, name: str) -> Size:
    """Rows of the first tensor argument before the normalised dimensions."""
    tensor = next(call.tensors())
    return product(tensor.shape[: len(tensor.shape) - _count(call, name)])


def _forward(call: Call, per_element: int, rows: Size) -> Cost:
    """Layer and RMS norm read contiguous rows and copy other inputs first."""
    elements = call.outs[0].numel
    return Cost(
        "norm",
        flop_other=elements * per_element + rows * PER_ROW,
        bytes_read=bytes_of(call, "input", "weight", "bias", "running_mean", "running_var"),
        bytes_written=written_bytes(call),
        scratch_bytes=copy_bytes(call.tensor("input")),
    )


def _backward(call: Call, gradient: int, center: bool) -> Cost:
    """Gradients asked for by ``output_mask``: input, weight (multiply, add), bias (add)."""
    mask = call.args["output_mask"]
    wanted = tuple(mask) if isinstance(mask, tuple) else (True, True, True)
    elements = call.tensor("input").numel
    weighted = int(call.has("weight"))
    work = (gradient + weighted) * bool(wanted[0]) + 2 * bool(wanted[1])
    if center and len(wanted) > 2:
        work += bool(wanted[2])
    return Cost(
        "norm",
        flop_other=elements * work,
        bytes_read=bytes_of(
            call, "grad_out", "input", "mean", "rstd", "weight", "save_mean", "save_invstd"
        ),
        bytes_written=written_bytes(call),
        scratch_bytes=total(copy_bytes(t) for t in tensors_of(call, "grad_out", "input")),
    )


@rule("aten.native_layer_norm")
def _layer_norm(call: Call) -> Cost:
    return _forward(call, NORMALISE + _affine(call), _leading(call, "normalized_shape"))


@rule("aten.layer_norm")
def _layer_norm_whole(call: Call) -> Cost:
    return _forward(call, NORMALISE + _affine(call), _leading(call, "normalized_shape"))


@rule("aten.native_layer_norm_backward")
def _layer_norm_backward(call: Call) -> Cost:
    """On a CPU each thread sums weight and bias gradients of its rows in buffers of its own."""
    cost = _backward(call, INPUT_GRADIENT, center=True)
    mask = call.args["output_mask"]
    if call.backend == "cpu" and isinstance(mask, tuple) and (mask[1] or mask[2]):
        tensor = call.tensor("input")
        row = product(tensor.shape[len(tensor.shape) - _count(call, "normalized_shape") :])
        buffers = symbol("threads") * 2 * row * tensor.itemsize
        cost = replace(cost, scratch_bytes=cost.scratch_bytes + buffers)
    return cost


@rule("aten._fused_rms_norm", "aten.rms_norm")
def _rms_norm(call: Call) -> Cost:
    per_element = RMS_NORMALISE + int(call.has("weight"))
    return _forward(call, per_element, _leading(call, "normalized_shape"))


@rule("aten._fused_rms_norm_backward")
def _rms_norm_backward(call: Call) -> Cost:
    return _backward(call, RMS_INPUT_GRADIENT, center=False)


@rule("aten.native_group_norm", "aten.group_norm")
def _group_norm(call: Call) -> Cost:
    group = call.args.get("group", call.args.get("num_groups"))
    batch = call.tensor("input").shape[0]
    rows: Size = batch if group is None else product((batch, group))  # type: ignore[arg-type]
    return _forward(call, NORMALISE + _affine(call), rows)


@rule("aten.native_group_norm_backward")
def _group_norm_backward(call: Call) -> Cost:
    """Two sums per channel of every batch element are kept in full precision."""
    batch, channels = call.tensor("input").shape[:2]
    sums = 2 * batch * channels * STATISTICS_BYTES
    return replace(_backward(call, INPUT_GRADIENT, center=True), scratch_bytes=sums)


@rule(
    "aten.native_batch_norm", "aten._native_batch_norm_legit", "aten.cudnn_batch_norm",
    "aten._batch_norm_with_update", "aten._batch_norm_no_update",
    "aten._native_batch_norm_legit_no_training",
)  # fmt: skip
def _batch_norm(call: Call) -> Cost:
    """With running statistics (not training) it is one multiplication and one addition each.

    Both are folded into two numbers per channel, which the kernel keeps.
    """
    channels = call.tensor("input").shape[1]
    trains = call.args.get("training") is True or call.op.startswith("aten._batch_norm_with")
    cost = _forward(call, NORMALISE + _affine(call) if trains else 2, channels)
    return replace(cost, scratch_bytes=2 * channels * STATISTICS_BYTES)


@rule("aten.native_batch_norm_backward", "aten.batch_norm_backward")
def _batch_norm_backward(call: Call) -> Cost:
    """The normalised gradient is built in a buffer of the input's size."""
    buffer = call.tensor("input").nbytes
    return replace(_backward(call, INPUT_GRADIENT, center=True), scratch_bytes=buffer)


@rule("aten._weight_norm_interface")
def _weight_norm(call: Call) -> Cost:
    """Square and add for the norm of each row, one multiplication by ``g / norm``."""
    return Cost(
        "norm",
        flop_other=call.tensor("v").numel * 3,
        bytes_read=bytes_of(call, "v", "g"),
        bytes_written=written_bytes(call),
    )


@rule("aten._weight_norm_interface_backward")
def _weight_norm_backward(call: Call) -> Cost:
    """Multiply and add for the row's ``g * v``, then ``scale * (grad - v * coefficient)``."""
    return Cost(
        "norm",
        flop_other=call.tensor("saved_v").numel * 5,
        bytes_read=bytes_of(call, "grad_w", "saved_v", "saved_g", "saved_norms"),
        bytes_written=written_bytes(call),
    )
