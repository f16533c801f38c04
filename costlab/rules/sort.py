"""Sorting, selecting, searching and counting distinct values: comparisons are the operations.

Sorting n values takes ``n * log2(n)`` comparisons, finding a value's place in n sorted ones
``log2(n)``. Selecting the k largest compares every value once with the least one kept and sorts
the k that remain. Sort time depends on the data; these are the usual counts, not bounds.
"""

from __future__ import annotations

from dataclasses import replace

from costlab.algebra import Size, exact_log2, total
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, rule, tensors_of, written_bytes
from costlab.rules.layout import copy_bytes

INDEX_BYTES = 8


def along(tensor: TensorSpec, dim: object) -> Size:
    """Size of ``dim`` (default the last); a tensor without dimensions holds one value."""
    if not tensor.shape:
        return 1
    return tensor.shape[dim if isinstance(dim, int) else -1]


def _cost(call: Call, comparisons: Size, *read: str) -> Cost:
    return Cost(
        "sort",
        flop_other=comparisons,
        bytes_read=bytes_of(call, *read),
        bytes_written=written_bytes(call),
    )


def _with_cpu_scratch(call: Call, cost: Cost, scratch: Size) -> Cost:
    return replace(cost, scratch_bytes=scratch) if call.backend == "cpu" else cost


@rule("aten.sort", "aten.argsort", "aten.msort")
def _sort(call: Call) -> Cost:
    tensor = call.tensor("self")
    dim = 0 if call.op.startswith("aten.msort") else call.args.get("dim", -1)
    cost = _cost(call, tensor.numel * exact_log2(along(tensor, dim)), "self")
    return _with_cpu_scratch(call, cost, along(tensor, dim) * INDEX_BYTES)


@rule("aten.topk")
def _topk(call: Call) -> Cost:
    tensor, kept = call.tensor("self"), call.outs[0]
    count = along(kept, call.args.get("dim", -1))
    return _cost(call, tensor.numel + kept.numel * exact_log2(count), "self")


@rule("aten.kthvalue", "aten.median", "aten.nanmedian")
def _select(call: Call) -> Cost:
    """Quickselect in a copy: about 2 comparisons per element; ``kthvalue`` moves indices too."""
    tensor = call.tensor("self")
    copied = tensor.itemsize + (INDEX_BYTES if call.op.startswith("aten.kthvalue") else 0)
    return _with_cpu_scratch(call, _cost(call, 2 * tensor.numel, "self"), tensor.numel * copied)


@rule("aten.mode")
def _mode(call: Call) -> Cost:
    """Sort, then one pass."""
    tensor = call.tensor("self")
    levels = exact_log2(along(tensor, call.args.get("dim", -1)))
    return _cost(call, tensor.numel * (levels + 1), "self")


@rule("aten._unique", "aten._unique2", "aten.unique_dim")
def _unique(call: Call) -> Cost:
    """Sort all values, then compare neighbours. (The sorted copies are not in the scratch.)"""
    tensor = call.tensor("self")
    return _cost(call, tensor.numel * (exact_log2(tensor.numel) + 1), "self")


@rule("aten.unique_consecutive", "aten.unique_dim_consecutive")
def _unique_consecutive(call: Call) -> Cost:
    return _cost(call, call.tensor("self").numel, "self")


@rule("aten.isin")
def _isin(call: Call) -> Cost:
    """Both sets sorted together, then neighbours compared."""
    values = total(t.numel for t in call.tensors())
    return _cost(call, values * (exact_log2(values) + 1), "elements", "test_elements", "element")


@rule("aten.searchsorted", "aten.bucketize")
def _search(call: Call) -> Cost:
    """Binary search: ``log2`` of the boundaries' number is compared and read per value."""
    name = "sorted_sequence" if call.has("sorted_sequence") else "boundaries"
    edges = call.tensor(name)
    out = call.outs[0]
    visited = out.numel * exact_log2(along(edges, -1))
    values = bytes_of(call, "self", "sorter")
    return Cost(
        "sort",
        flop_other=visited,
        bytes_read=values + visited * edges.itemsize,
        bytes_written=out.nbytes,
        scratch_bytes=total(copy_bytes(t) for t in tensors_of(call, "self", name)),
    )
