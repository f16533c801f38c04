"""Sums, means, extremes, norms, variances, distances: one pass over the input.

A sum is one addition per input element, an extreme one comparison; a mean divides once per
output. A variance subtracts the mean, squares and adds after the sum (4 per element).
"""

from __future__ import annotations

from dataclasses import replace

from costlab.algebra import Size, as_expr, maximum
from costlab.graph import DTYPE_BYTES, Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, rule, scalar_is, tensors_of, written_bytes
from costlab.rules.elementwise import list_launches, pointwise
from costlab.rules.promotion import is_half, number_bytes

VARIANCE_OPERATIONS = 4
_COUNT_IN_FLOAT32 = 3
"""Elements of float32 that the count of a mean takes: one of 64 bits and its cast."""


def reduce(call: Call, per_input: Size, per_output: Size = 0, source: str = "self") -> Cost:
    """Cost of ``per_input`` operations per element of ``source``, ``per_output`` per result."""
    return Cost(
        "reduction",
        flop_other=call.tensor(source).numel * per_input + call.outs[0].numel * per_output,
        bytes_read=bytes_of(call, source),
        bytes_written=written_bytes(call),
    )


def mean_scratch(source: TensorSpec, out_numel: Size) -> Size:
    """Scratch of a mean on a CPU: the count as a tensor; half precision is widened first."""
    count = number_bytes(1, source.dtype)
    if not is_half(source.dtype):
        return count
    return (out_numel + maximum(source.numel, _COUNT_IN_FLOAT32)) * DTYPE_BYTES["float32"]


def _reduced_groups(tensor: TensorSpec, dim: object) -> int:
    """Runs of reduced dimensions that the kernel cannot walk as one."""
    rank = len(tensor.shape)
    dims = dim if isinstance(dim, tuple) and dim else tuple(range(rank))
    reduced = {d % rank for d in dims if isinstance(d, int)} if rank else set()
    groups = 0
    for i in sorted(reduced):
        joins = i + 1 in reduced and as_expr(tensor.stride[i]) == as_expr(
            tensor.stride[i + 1] * tensor.shape[i + 1]
        )
        groups += not joins
    return groups


@rule("aten.sum")
def _sum(call: Call) -> Cost:
    """On a CPU another type is cast first; half precision sums scattered runs in float32."""
    tensor, out = call.tensor("self"), call.outs[0]
    scratch: Size = 0
    if call.backend == "cpu" and tensor.dtype != out.dtype:
        scratch = tensor.numel * out.itemsize
    elif (
        call.backend == "cpu"
        and is_half(tensor.dtype)
        and _reduced_groups(tensor, call.args.get("dim")) > 1
    ):
        scratch = (tensor.numel + out.numel) * DTYPE_BYTES["float32"]
    return replace(reduce(call, 1), scratch_bytes=scratch)


@rule("aten.any", "aten.all")
def _any(call: Call) -> Cost:
    """Other types become truth values first."""
    tensor = call.tensor("self")
    scratch: Size = 0 if call.backend != "cpu" or tensor.dtype == "bool" else tensor.numel
    return replace(reduce(call, 1), scratch_bytes=scratch)


@rule(
    "aten.prod", "aten.amax", "aten.amin", "aten.argmax", "aten.argmin", "aten.count_nonzero",
    "aten.trace", "aten._is_all_true", "aten._is_any_true",
)  # fmt: skip
def _one_per_element(call: Call) -> Cost:
    return reduce(call, 1)


@rule("aten.nansum", "aten.aminmax")
def _two_per_element(call: Call) -> Cost:
    return reduce(call, 2)


@rule("aten.max", "aten.min")
def _extreme(call: Call) -> Cost:
    """Reduction, or of two tensors elementwise (overload ``other``)."""
    if call.has("other"):
        return pointwise(call, 1)
    return reduce(call, 1)


@rule("aten.mean")
def _mean(call: Call) -> Cost:
    cost = reduce(call, 1, 1)
    if call.backend != "cpu":
        return cost
    return replace(cost, scratch_bytes=mean_scratch(call.tensor("self"), call.outs[0].numel))


@rule("aten.nanmean")
def _nanmean(call: Call) -> Cost:
    return reduce(call, 2, 1)


def _total_variance(call: Call) -> int:
    """Scratch of a variance over everything on a CPU, half precision apart: the mean first."""
    tensor = call.tensor("self")
    plain = call.backend == "cpu" and len(call.outs) == 1 and not call.outs[0].shape
    if not plain or is_half(tensor.dtype):
        return 0
    return tensor.itemsize + number_bytes(1, tensor.dtype)


@rule("aten.var", "aten.var_mean")
def _variance(call: Call) -> Cost:
    """Divisions for the mean and the variance of each row."""
    return replace(reduce(call, VARIANCE_OPERATIONS, 2), scratch_bytes=_total_variance(call))


@rule("aten.std", "aten.std_mean")
def _deviation(call: Call) -> Cost:
    return replace(reduce(call, VARIANCE_OPERATIONS, 3), scratch_bytes=_total_variance(call))


def _norm_operations(call: Call) -> tuple[int, int]:
    """Per element and per output: squares and a root, absolute values, or general powers."""
    for name in ("ord", "p"):
        if scalar_is(call, name, 1) or scalar_is(call, name, float("inf")):
            return 2, 0
        if call.has(name) and not scalar_is(call, name, 2):
            return 3, 1
    return 2, 1


@rule("aten.linalg_vector_norm", "aten.norm", "aten.frobenius_norm")
def _norm(call: Call) -> Cost:
    return reduce(call, *_norm_operations(call))


@rule("aten._foreach_norm")
def _norm_list(call: Call) -> Cost:
    tensors = tuple(tensors_of(call, "self"))
    per_element, per_output = _norm_operations(call)
    elements: Size = 0
    for tensor in tensors:
        elements = elements + tensor.numel
    return Cost(
        "reduction",
        flop_other=elements * per_element + len(tensors) * per_output,
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
        launches=list_launches(call),
    )


@rule("aten.dist")
def _dist(call: Call) -> Cost:
    return Cost(
        "reduction",
        flop_other=call.tensor("self").numel * 3 + 1,
        bytes_read=bytes_of(call, "self", "other"),
        bytes_written=written_bytes(call),
    )


@rule("aten._cdist_forward")
def _cdist(call: Call) -> Cost:
    """Difference, square, addition for every pair and coordinate; one root per pair."""
    width = call.tensor("x1").shape[-1]
    return Cost(
        "reduction",
        flop_other=call.outs[0].numel * (3 * width + 1),
        bytes_read=bytes_of(call, "x1", "x2"),
        bytes_written=written_bytes(call),
    )


@rule("aten._cdist_backward")
def _cdist_backward(call: Call) -> Cost:
    """Per pair a quotient; per coordinate difference, product, addition."""
    width = call.tensor("x1").shape[-1]
    return Cost(
        "reduction",
        flop_other=call.tensor("grad").numel * (3 * width + 1),
        bytes_read=bytes_of(call, "grad", "x1", "x2", "cdist"),
        bytes_written=written_bytes(call),
    )


def _expanded(call: Call, operand: str) -> list[Size | None]:
    """Sizes of an operand of ``_trilinear`` with its missing dimensions as None."""
    expand = call.args[operand.replace("i", "expand")]
    missing = expand if isinstance(expand, tuple) else ()
    sizes = iter(call.tensor(operand).shape)
    rank = len(call.tensor(operand).shape) + len(missing)
    return [None if dim in missing else next(sizes) for dim in range(rank)]


@rule("aten._trilinear")
def _trilinear(call: Call) -> Cost:
    """Product of three operands that is summed over ``sumdim``: two products, one addition."""
    work = call.outs[0].numel
    operands = [_expanded(call, name) for name in ("i1", "i2", "i3")]
    summed = call.args["sumdim"]
    for dim in summed if isinstance(summed, tuple) else ():
        if isinstance(dim, int):
            work = work * next(s for s in (sizes[dim] for sizes in operands) if s is not None)
    return Cost(
        "reduction",
        flop_other=3 * work,
        bytes_read=bytes_of(call, "i1", "i2", "i3"),
        bytes_written=written_bytes(call),
    )


@rule("aten.equal")
def _equal(call: Call) -> Cost:
    return Cost(
        "reduction",
        flop_other=call.tensor("self").numel,
        bytes_read=bytes_of(call, "self", "other"),
    )
