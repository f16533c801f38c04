"""Operators that only move data: elements read once, written once, no arithmetic.

The backward of a slice writes zeros over the whole buffer, then the slice; a scatter into a slice
copies its base first. Padding writes all of its result and reads its input.
"""

from __future__ import annotations

from dataclasses import replace

from costlab.algebra import Expr, Size, minimum, product, total
from costlab.graph import Call
from costlab.rules.base import Cost, bytes_of, rule, tensors_of, written_bytes
from costlab.rules.elementwise import list_launches, outputs

INDEX_BYTES = 8
_VIEW_COPIES = (
    "_reshape", "alias", "as_strided", "detach", "diagonal", "expand", "narrow", "permute",
    "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind",
    "unfold", "unsqueeze", "view", "view_as_complex", "view_as_real",
)  # fmt: skip


def move(read: Size, written: Size) -> Cost:
    """Cost of reading and writing that many bytes, and nothing else."""
    return Cost("copy", bytes_read=read, bytes_written=written)


@rule(
    "aten.clone", "aten._to_copy", "aten.to", "aten.contiguous", "aten.reshape",
    "aten.lift_fresh_copy", "aten.stack", "aten.hstack", "aten.vstack",
    "aten.reflection_pad1d", "aten.reflection_pad2d", "aten.replication_pad1d",
    "aten.replication_pad2d", "aten.flip", "aten.rot90", "aten.tril", "aten.triu",
    "aten.tril_", "aten.triu_", "aten.diag_embed", "aten.block_diag", "aten.resolve_conj",
    "aten.resolve_neg", "aten.pixel_shuffle", "aten.pixel_unshuffle", "aten.channel_shuffle",
    "aten.flatten", "aten._pin_memory",
)  # fmt: skip
def _copy(call: Call) -> Cost:
    return move(bytes_of(call, *(name for name in call.args if name != "out")), written_bytes(call))


@rule(*(f"aten.{name}_copy" for name in _VIEW_COPIES))
def _copy_selected(call: Call) -> Cost:
    """Reads what it writes: a part of the input, or parts of it several times."""
    return move(written_bytes(call), written_bytes(call))


@rule("aten.repeat", "aten.tile")
def _repeat(call: Call) -> Cost:
    """The tiles' places are indices, four of 64 bits per dimension, made on the host."""
    repeats = call.args.get("repeats", call.args.get("dims"))
    count = len(repeats) if isinstance(repeats, tuple) else 1
    indices = 4 * INDEX_BYTES * count if call.backend == "cpu" else 0
    return replace(move(written_bytes(call), written_bytes(call)), scratch_bytes=indices)


@rule("aten.roll")
def _roll(call: Call) -> Cost:
    """Several dimensions are rolled one after the other, each into a new tensor."""
    dims = call.args.get("dims")
    passes = max(len(dims), 1) if isinstance(dims, tuple) else 1
    size = call.tensor("self").nbytes
    return replace(move(size * passes, size * passes), scratch_bytes=size * (passes - 1))


@rule("aten.cat", "aten.concat")
def _concatenate(call: Call) -> Cost:
    """On a CPU a tensor of another type than the result is copied before it is cast."""
    written = call.outs[0]
    others = (t.nbytes for t in tensors_of(call, "tensors") if t.dtype != written.dtype)
    return replace(
        move(bytes_of(call, "tensors"), written.nbytes),
        scratch_bytes=total(others) if call.backend == "cpu" else 0,
    )


@rule("aten.copy_", "aten._copy_from", "aten._copy_from_and_resize")
def _copy_into(call: Call) -> Cost:
    return move(bytes_of(call, "src"), call.tensor("self").nbytes)


@rule("aten.copy")
def _copy_to_new(call: Call) -> Cost:
    return move(bytes_of(call, "src"), written_bytes(call))


@rule("aten._foreach_copy_")
def _copy_list(call: Call) -> Cost:
    return Cost(
        "copy",
        bytes_read=bytes_of(call, "src"),
        bytes_written=total(t.nbytes for t in outputs(call)),
        launches=list_launches(call),
    )


@rule("aten.constant_pad_nd", "aten.pad")
def _pad(call: Call) -> Cost:
    """Writes all of the result; a negative pad crops, and what is cropped is not read."""
    tensor = call.tensor("self")
    shape = list(tensor.shape)
    pads = call.args["pad"]
    for place, pad in enumerate(pads if isinstance(pads, tuple) else ()):
        if isinstance(pad, (int, Expr)):
            dim = len(shape) - 1 - place // 2
            shape[dim] = shape[dim] + minimum(0, pad)
    return move(product(shape) * tensor.itemsize, written_bytes(call))


@rule("aten.slice_backward", "aten.select_backward", "aten.diagonal_backward")
def _view_backward(call: Call) -> Cost:
    """Zeros over the whole gradient, then the part that was used."""
    part = bytes_of(call, "grad_output")
    return move(part, written_bytes(call) + part)


@rule(
    "aten.slice_scatter", "aten.select_scatter", "aten.diagonal_scatter",
    "aten.as_strided_scatter",
)  # fmt: skip
def _scatter_into_copy(call: Call) -> Cost:
    part = bytes_of(call, "src")
    return move(bytes_of(call, "self") + part, written_bytes(call) + part)


@rule(
    "aten.unfold_backward",
    "aten.reflection_pad1d_backward",
    "aten.reflection_pad2d_backward",
    "aten.replication_pad1d_backward",
    "aten.replication_pad2d_backward",
    "aten.col2im",
)
def _overlapping_backward(call: Call) -> Cost:
    """Overlapping pieces are added where they came from; unfolding needs an index of places."""
    pieces = next(call.tensors())
    sizes, dim = call.args.get("input_sizes"), call.args.get("dim")
    places: Size = 0
    if call.backend == "cpu" and isinstance(sizes, tuple) and isinstance(dim, int):
        length = sizes[dim]
        places = length * INDEX_BYTES if isinstance(length, (int, Expr)) else 0
    return Cost(
        "copy",
        flop_other=pieces.numel,
        bytes_read=pieces.nbytes,
        bytes_written=written_bytes(call),
        scratch_bytes=places,
    )


@rule("aten.im2col")
def _pieces(call: Call) -> Cost:
    return move(written_bytes(call), written_bytes(call))
