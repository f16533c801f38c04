"""Pooling and resampling of sequences and images.

An average over a window is an addition per element of the window and one division per result; a
maximum is a comparison per element. Backward spreads each gradient over its window, or adds it at
the place that was greatest.
"""

from __future__ import annotations

from costlab.algebra import Expr, Size, product
from costlab.graph import Call
from costlab.rules.base import Cost, bytes_of, rule, written_bytes


def _window(call: Call) -> Size:
    """Elements of the window; a single number stands for every dimension that is pooled."""
    kernel = call.args["kernel_size"]
    sizes = kernel if isinstance(kernel, tuple) else (kernel,)
    numbers = [size for size in sizes if isinstance(size, (int, Expr))]
    dims = next((d for d in (1, 2, 3) if f"{d}d" in call.op), 1)
    return product(numbers * dims if len(numbers) == 1 else numbers)


@rule("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def _average(call: Call) -> Cost:
    return Cost(
        "reduction",
        flop_other=call.outs[0].numel * (_window(call) + 1),
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
    )


@rule("aten.avg_pool2d_backward", "aten.avg_pool3d_backward")
def _average_backward(call: Call) -> Cost:
    grad = call.tensor("grad_output")
    return Cost(
        "reduction",
        flop_other=grad.numel * (_window(call) + 1),
        bytes_read=grad.nbytes,
        bytes_written=written_bytes(call),
    )


@rule("aten.max_pool2d_with_indices", "aten.max_pool3d_with_indices")
def _maximum(call: Call) -> Cost:
    return Cost(
        "reduction",
        flop_other=call.outs[0].numel * _window(call),
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
    )


@rule(
    "aten.max_pool2d_with_indices_backward", "aten.max_pool3d_with_indices_backward",
    "aten.adaptive_max_pool2d_backward",
)  # fmt: skip
def _maximum_backward(call: Call) -> Cost:
    """Zeros over the whole gradient, then one addition per result."""
    grad = call.tensor("grad_output")
    return Cost(
        "gather",
        flop_other=grad.numel,
        bytes_read=2 * grad.nbytes + bytes_of(call, "indices"),
        bytes_written=written_bytes(call) + grad.nbytes,
    )


@rule("aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d", "aten.adaptive_avg_pool1d")
def _adaptive_average(call: Call) -> Cost:
    """Windows that cover the input once; where they overlap by a row, that is left out."""
    return Cost(
        "reduction",
        flop_other=call.tensor("self").numel + call.outs[0].numel,
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
    )


@rule("aten._adaptive_avg_pool2d_backward", "aten._adaptive_avg_pool3d_backward")
def _adaptive_average_backward(call: Call) -> Cost:
    grad = call.tensor("grad_output")
    return Cost(
        "reduction",
        flop_other=call.outs[0].numel + grad.numel,
        bytes_read=grad.nbytes,
        bytes_written=written_bytes(call),
    )


@rule("aten.adaptive_max_pool2d")
def _adaptive_maximum(call: Call) -> Cost:
    return Cost(
        "reduction",
        flop_other=call.tensor("self").numel,
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
    )


@rule("aten.upsample_nearest1d", "aten.upsample_nearest2d")
def _nearest(call: Call) -> Cost:
    """Every result is read from its place in the input."""
    return Cost("copy", bytes_read=written_bytes(call), bytes_written=written_bytes(call))


@rule("aten.upsample_nearest1d_backward", "aten.upsample_nearest2d_backward")
def _nearest_backward(call: Call) -> Cost:
    grad = call.tensor("grad_output")
    return Cost(
        "copy",
        flop_other=grad.numel,
        bytes_read=grad.nbytes,
        bytes_written=written_bytes(call),
    )
