"""Writing at given positions: only the addressed elements count, and the indices.

A scatter writes as many elements as it is given; where it adds, it reads them too and does one
addition each. Operators that return a new tensor (``scatter``, ``index_put``) copy their base
first. An embedding's gradient is zeros over the whole table, then one row added per index.
"""

from __future__ import annotations

from dataclasses import replace

from costlab.algebra import Size, product, symbol
from costlab.graph import DTYPE_BYTES, Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, rule, scalar_is, tensors_of, written_bytes
from costlab.rules.index import is_mask, is_narrow, moves_rows, positions
from costlab.rules.layout import copy_bytes
from costlab.rules.promotion import is_half


@rule("aten.embedding_dense_backward")
def _embedding_backward(call: Call) -> Cost:
    """Zeros over the whole table, then one row added per index."""
    grad = call.tensor("grad_output")
    return Cost(
        "gather",
        flop_other=grad.numel,
        bytes_read=bytes_of(call, "indices") + 2 * grad.nbytes,
        bytes_written=written_bytes(call) + grad.nbytes,
        scratch_bytes=copy_bytes(grad),
    )


def _scatter(call: Call, count: Size, indices: Size, source: Size, operations: int) -> Cost:
    """``count`` elements of self are written; read and combined too if ``operations`` > 0."""
    itemsize = call.tensor("self").itemsize
    read = indices + source + (count * itemsize if operations else 0)
    written = count * itemsize
    if not call.op.split(".")[1].endswith("_"):
        base = call.tensor("self").nbytes
        read, written = read + base, written + base
    return Cost("gather", flop_other=count * operations, bytes_read=read, bytes_written=written)


def _scatter_scratch(call: Call, by_rows: bool) -> Size:
    """Half precision on a CPU: all of self in float32, or one row of sums per thread."""
    base = call.tensor("self")
    if call.backend != "cpu" or not is_half(base.dtype):
        return 0
    if by_rows:
        return symbol("threads") * product(base.shape[1:]) * DTYPE_BYTES["float32"]
    return base.numel * DTYPE_BYTES["float32"]


def _scatter_along(call: Call, operations: int) -> Cost:
    """Scatter where each element of ``index`` addresses one element."""
    count = call.tensor("index").numel
    source = sum(t.itemsize for t in tensors_of(call, "src", "source")) * count
    cost = _scatter(call, count, bytes_of(call, "index"), source, operations)
    by_rows = operations > 0 and moves_rows(call)
    return replace(cost, scratch_bytes=_scatter_scratch(call, by_rows))


def _scatter_slices(call: Call, operations: int) -> Cost:
    """Scatter where each element of ``index`` addresses a slice of self across ``dim``."""
    base, index, dim = call.tensor("self"), call.tensor("index"), call.args["dim"]
    rank = len(base.shape)
    kept = (s for i, s in enumerate(base.shape) if isinstance(dim, int) and i != dim % rank)
    return _scatter(
        call, product(kept) * index.numel, index.nbytes, bytes_of(call, "source"), operations
    )


def _reduces(call: Call) -> int:
    """1 if the scatter combines with what is there, else 0."""
    return 1 if call.has("reduce") or call.args.get("accumulate") is True else 0


@rule("aten.scatter", "aten.scatter_", "aten.scatter_reduce", "aten.scatter_reduce_")
def _scatter_elements(call: Call) -> Cost:
    return _scatter_along(call, _reduces(call))


@rule("aten.scatter_add", "aten.scatter_add_")
def _scatter_add(call: Call) -> Cost:
    return _scatter_along(call, 1)


@rule("aten.put", "aten.put_")
def _put(call: Call) -> Cost:
    return _scatter_along(call, _reduces(call))


@rule("aten.index_add", "aten.index_add_", "aten.index_reduce", "aten.index_reduce_")
def _index_add(call: Call) -> Cost:
    """On a CPU along the first or last dimension it is a scatter, otherwise slice by slice."""
    cost, base = _scatter_slices(call, 1), call.tensor("self")
    dim, rank = call.args["dim"], len(base.shape)
    plain = not call.has("alpha") or scalar_is(call, "alpha", 1)
    scatters = plain and call.tensor("index").dtype == "int64" and dim in (0, -1, rank - 1)
    if rank < 2 or not scatters:
        return cost
    by_rows = dim == 0 and not is_narrow(base)
    return replace(cost, scratch_bytes=_scatter_scratch(call, by_rows))


@rule("aten.index_copy", "aten.index_copy_", "aten.index_fill", "aten.index_fill_")
def _index_copy(call: Call) -> Cost:
    return _scatter_slices(call, 0)


def _broadcast(shapes: list[tuple[Size, ...]]) -> tuple[Size, ...]:
    """Shape of the shapes broadcast against each other; unequal sizes are 1 and the other."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Size] = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, start=rank - len(shape)):
            if not (isinstance(size, int) and size == 1):
                result[place] = size
    return tuple(result)


def _addressed(call: Call) -> Size:
    """Elements of self that ``indices`` address; under a mask, as many as there are values.

    One value for a masked assignment says nothing about how many it fills: then all are taken.
    """
    base, values = call.tensor("self"), call.tensor("values")
    given = call.args["indices"]
    indices = given if isinstance(given, tuple) else ()
    tensors = [index for index in indices if isinstance(index, TensorSpec)]
    if any(is_mask(index) for index in tensors):
        single = all(isinstance(size, int) and size == 1 for size in values.shape)
        return base.numel if single else values.numel
    sliced = [
        size
        for place, size in enumerate(base.shape)
        if place >= len(indices) or indices[place] is None
    ]
    return product(_broadcast([index.shape for index in tensors])) * product(sliced)


@rule(
    "aten.index_put", "aten.index_put_", "aten._unsafe_index_put", "aten._index_put_impl_",
    "aten._unsafe_masked_index_put_accumulate",
)  # fmt: skip
def _index_put(call: Call) -> Cost:
    accumulates = _reduces(call) or int(call.op.startswith("aten._unsafe_masked"))
    indices, values = bytes_of(call, "indices", "mask"), call.tensor("values")
    cost = _scatter(call, _addressed(call), indices, values.nbytes, accumulates)
    return replace(cost, scratch_bytes=positions(call, values) if call.backend == "cpu" else 0)


@rule("aten.masked_scatter", "aten.masked_scatter_")
def _masked_scatter(call: Call) -> Cost:
    """``source`` may be longer than what is taken from it, at most self's size."""
    cost = _scatter(call, call.tensor("source").numel, bytes_of(call, "mask"), 0, 0)
    return replace(cost, bytes_read=cost.bytes_read + bytes_of(call, "source"))
