"""Reading at given positions: only the addressed elements count, and the indices.

A gather reads as many elements as it returns, wherever they are in the table.
"""

from __future__ import annotations

from costlab.algebra import Size, as_expr, maximum, product
from costlab.graph import DTYPE_BYTES, Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, rule, written_bytes
from costlab.rules.layout import is_contiguous
from costlab.rules.promotion import is_half

INDEX_BYTES = 8
ROW_THRESHOLD = 16
"""Fewest elements of a row that CPU scatters move as one. Rows of symbolic size are taken wide."""


def is_mask(index: TensorSpec) -> bool:
    """Whether an index selects where it is true."""
    return index.dtype in ("bool", "uint8")


def moves_rows(call: Call) -> bool:
    """Whether an element-wise index is the same across each row: kernels then move whole rows.

    They do so along the first dimension only, for full rows of at least 16 elements.
    """
    base, index = call.tensor("self"), call.tensor("index")
    if call.args.get("dim") != 0 or len(index.shape) < 2 or is_narrow(base):
        return False
    same = all(
        as_expr(a) == as_expr(b) for a, b in zip(base.shape[1:], index.shape[1:], strict=True)
    )
    return same and all(stride == 0 for stride in index.stride[1:])


def is_narrow(base: TensorSpec) -> bool:
    """Whether rows are too short for a CPU scatter to move them whole."""
    row = product(base.shape[1:])
    return isinstance(row, int) and row < ROW_THRESHOLD


def positions(call: Call, values: TensorSpec) -> Size:
    """Scratch that turns ``indices`` into 64-bit positions: masks, and narrower integers."""
    given = call.args["indices"]
    scratch: Size = 0
    for place, index in enumerate(given if isinstance(given, tuple) else ()):
        if not isinstance(index, TensorSpec):
            continue
        if is_mask(index):
            count = values.shape[place] if place < len(values.shape) else 0
            scratch = scratch + count * len(index.shape) * INDEX_BYTES
        elif index.dtype != "int64":
            scratch = scratch + index.numel * INDEX_BYTES
    return scratch


def _gather_scratch(call: Call) -> Size:
    """Half precision is gathered element by element through float32."""
    name = call.op.split(".")[1]
    if name == "repeat_interleave":
        return bytes_of(call, "repeats")
    if name == "index":
        return positions(call, call.outs[0])
    if name != "gather" or not is_half(call.outs[0].dtype) or moves_rows(call):
        return 0
    base = call.tensor("self")
    plain_row = len(base.shape) == 1 and is_contiguous(base)
    return 0 if plain_row else call.outs[0].numel * DTYPE_BYTES["float32"]


@rule(
    "aten.gather", "aten.index_select", "aten.take", "aten.take_along_dim", "aten.index",
    "aten._unsafe_index", "aten.repeat_interleave",
)  # fmt: skip
def _gather(call: Call) -> Cost:
    """``indices`` may hold masks; they are read whole."""
    gathered = written_bytes(call)
    indices = bytes_of(call, "index", "indices", "repeats")
    return Cost(
        "gather",
        bytes_read=indices + gathered,
        bytes_written=gathered,
        scratch_bytes=_gather_scratch(call) if call.backend == "cpu" else 0,
    )


@rule("aten._unsafe_masked_index")
def _masked_index(call: Call) -> Cost:
    gathered = written_bytes(call)
    return Cost(
        "gather",
        flop_other=call.outs[0].numel,
        bytes_read=bytes_of(call, "indices", "mask") + gathered,
        bytes_written=gathered,
    )


@rule("aten.embedding")
def _embedding(call: Call) -> Cost:
    gathered = written_bytes(call)
    return Cost("gather", bytes_read=bytes_of(call, "indices") + gathered, bytes_written=gathered)


@rule("aten._embedding_bag", "aten._embedding_bag_forward_only")
def _embedding_bag(call: Call) -> Cost:
    weight, indices = call.tensor("weight"), call.tensor("indices")
    elements = indices.numel * weight.shape[1]
    return Cost(
        "gather",
        flop_other=elements,
        bytes_read=bytes_of(call, "indices", "offsets") + elements * weight.itemsize,
        bytes_written=call.outs[0].nbytes,
    )


@rule("aten.nonzero", "aten.argwhere", "aten.nonzero_static")
def _nonzero(call: Call) -> Cost:
    """One comparison per element; counted in a first pass, written in a second."""
    tensor = call.tensor("self")
    return Cost(
        "gather",
        flop_other=tensor.numel,
        bytes_read=2 * tensor.nbytes,
        bytes_written=written_bytes(call),
    )


@rule("aten.masked_select")
def _masked_select(call: Call) -> Cost:
    """On a CPU the mask becomes 64-bit numbers first, which are gone when the result is made."""
    written, mask = written_bytes(call), call.tensor("mask")
    scratch = maximum(0, (mask.numel + 1) * INDEX_BYTES - written)
    return Cost(
        "gather",
        bytes_read=mask.nbytes + written,
        bytes_written=written,
        scratch_bytes=scratch if call.backend == "cpu" else 0,
    )


@rule("aten.one_hot")
def _one_hot(call: Call) -> Cost:
    index = call.tensor("self")
    return Cost(
        "gather",
        bytes_read=index.nbytes,
        bytes_written=written_bytes(call) + index.numel * call.outs[0].itemsize,
    )


@rule("aten.bincount", "aten.histc")
def _count(call: Call) -> Cost:
    """One addition per input element, into a bin that is read and written."""
    tensor = call.tensor("self")
    bins = tensor.numel * call.outs[0].itemsize
    return Cost(
        "gather",
        flop_other=tensor.numel,
        bytes_read=bytes_of(call, "self", "weights") + bins,
        bytes_written=written_bytes(call) + bins,
    )
