"""Matrix products: 2 FLOP per multiply-add, each operand addressed once.

``flop_matmul`` equals torch's FlopCounterMode where that has a formula (mm, addmm, bmm, baddbmm,
_scaled_mm, also reached from linear, matmul and einsum). Matrix-vector and vector products and
``_grouped_mm``, which torch's counter passes over, count the same way. What is added or scaled
besides the product (bias, ``beta``, ``alpha``, activation) is ``flop_other``.
"""

from __future__ import annotations

from dataclasses import replace

from costlab.algebra import Size, product, total
from costlab.graph import Call, TensorSpec
from costlab.rules.base import (
    Cost,
    bytes_of,
    read_bytes,
    rule,
    scalar_is,
    tensors_of,
    written_bytes,
)
from costlab.rules.elementwise import GELU_OPERATIONS


def _copied(matrix: TensorSpec) -> Size:
    """Bytes of the copy that BLAS needs of a matrix (of a batch: one at a time), else 0.

    Rows or columns must lie densely and apart from each other; expanded, strided and overlapping
    matrices are copied. Overlap is seen only where the sizes are numbers.
    """
    rows, columns = matrix.shape[-2:]
    for step, length, fast in (
        (matrix.stride[-2], columns, matrix.stride[-1]),
        (matrix.stride[-1], rows, matrix.stride[-2]),
    ):
        apart = step >= length if isinstance(step, int) and isinstance(length, int) else step != 0
        if fast == 1 and apart:
            return 0
    return rows * columns * matrix.itemsize


def _copies(call: Call, *operands: str) -> Size:
    return total(_copied(t) for t in tensors_of(call, *operands) if len(t.shape) > 1)


def _multiply(call: Call, inner: Size, *operands: str) -> Cost:
    """Plain product: every output element is a dot product over ``inner`` terms."""
    return Cost(
        "matmul",
        flop_matmul=2 * call.outs[0].numel * inner,
        bytes_read=bytes_of(call, *operands),
        bytes_written=written_bytes(call),
        scratch_bytes=_copies(call, *operands),
    )


def _multiply_add(call: Call, inner: Size, products: Size, left: str, right: str) -> Cost:
    """``beta * self + alpha * (left @ right)``; ``products`` elements are computed by products."""
    out = call.outs[0]
    adds = not scalar_is(call, "beta", 0)
    scales_self = adds and call.has("beta") and not scalar_is(call, "beta", 1)
    scales_product = call.has("alpha") and not scalar_is(call, "alpha", 1)
    return Cost(
        "matmul",
        flop_matmul=2 * products * inner,
        flop_other=out.numel * (adds + scales_self + scales_product),
        bytes_read=bytes_of(call, left, right, *(("self",) if adds else ())),
        bytes_written=written_bytes(call),
        scratch_bytes=_copies(call, left, right),
    )


@rule("aten.mm", "aten.bmm", "aten._int_mm")
def _mm(call: Call) -> Cost:
    return _multiply(call, call.tensor("self").shape[-1], "self", "mat2")


@rule("aten.matmul", "aten.dot", "aten.vdot", "aten.inner", "aten.mv")
def _matmul(call: Call) -> Cost:
    return _multiply(call, call.tensor("self").shape[-1], "self", "other", "tensor", "vec")


@rule("aten.outer", "aten.ger")
def _outer(call: Call) -> Cost:
    return _multiply(call, 1, "self", "vec2")


@rule("aten.addmm", "aten.addmm_")
def _addmm(call: Call) -> Cost:
    inner = call.tensor("mat1").shape[-1]
    return _multiply_add(call, inner, call.outs[0].numel, "mat1", "mat2")


@rule("aten.baddbmm", "aten.baddbmm_")
def _baddbmm(call: Call) -> Cost:
    inner = call.tensor("batch1").shape[-1]
    return _multiply_add(call, inner, call.outs[0].numel, "batch1", "batch2")


@rule("aten.addbmm", "aten.addbmm_")
def _addbmm(call: Call) -> Cost:
    batch, _, inner = call.tensor("batch1").shape
    return _multiply_add(call, inner, batch * call.outs[0].numel, "batch1", "batch2")


@rule("aten.addmv", "aten.addmv_")
def _addmv(call: Call) -> Cost:
    return _multiply_add(call, call.tensor("mat").shape[-1], call.outs[0].numel, "mat", "vec")


@rule("aten.addr", "aten.addr_")
def _addr(call: Call) -> Cost:
    return _multiply_add(call, 1, call.outs[0].numel, "vec1", "vec2")


@rule("aten._addmm_activation")
def _addmm_activation(call: Call) -> Cost:
    out = call.outs[0]
    gelu = GELU_OPERATIONS["none" if call.backend == "cpu" else "tanh"]
    activation = gelu if call.args.get("use_gelu") else 1
    plain = _addmm(call)
    return replace(plain, flop_other=plain.flop_other + out.numel * activation)


@rule("aten._scaled_mm")
def _scaled_mm(call: Call) -> Cost:
    out = call.outs[0]
    return Cost(
        "matmul",
        flop_matmul=2 * out.numel * call.tensor("self").shape[-1],
        flop_other=out.numel * (1 + call.has("bias")),
        bytes_read=bytes_of(call, "self", "mat2", "scale_a", "scale_b", "bias", "scale_result"),
        bytes_written=written_bytes(call),
    )


@rule("aten.linear")
def _linear(call: Call) -> Cost:
    out = call.outs[0]
    return Cost(
        "matmul",
        flop_matmul=2 * out.numel * call.tensor("input").shape[-1],
        flop_other=out.numel * call.has("bias"),
        bytes_read=bytes_of(call, "input", "weight", "bias"),
        bytes_written=written_bytes(call),
    )


@rule("aten._grouped_mm", "aten._scaled_grouped_mm")
def _grouped_mm(call: Call) -> Cost:
    """Groups share rows, columns or the inner size of a flat operand, given by ``offs``.

    Every row (column, inner index) is taken to belong to a group, and every group's matrix to be
    read: with fewer rows than groups the bytes are an upper bound.
    """
    left, right = call.tensor("self"), call.tensor("mat2")
    out = call.outs[0]
    flat_inner = len(left.shape) == 2 and len(right.shape) == 2
    products = product(out.shape[-2:]) if flat_inner else out.numel
    return Cost(
        "matmul",
        flop_matmul=2 * products * left.shape[-1],
        flop_other=out.numel * call.has("bias"),
        bytes_read=bytes_of(call, "self", "mat2", "offs", "bias", "scale_a", "scale_b"),
        bytes_written=written_bytes(call),
    )


@rule("costlab.grouped_product")
def _grouped_product(call: Call) -> Cost:
    """Every row meets one matrix; every matrix is taken to be read, whatever rows it has."""
    return Cost(
        "matmul",
        flop_matmul=2 * call.outs[0].numel * call.tensor("rows").shape[-1],
        bytes_read=bytes_of(call, "rows", "matrices", "ends"),
        bytes_written=written_bytes(call),
    )


@rule("costlab.grouped_outer")
def _grouped_outer(call: Call) -> Cost:
    left, right = call.tensor("left"), call.tensor("right")
    return Cost(
        "matmul",
        flop_matmul=2 * left.numel * right.shape[-1],
        bytes_read=bytes_of(call, "left", "right", "ends"),
        bytes_written=written_bytes(call),
    )


def _labels(equation: str, tensors: tuple[TensorSpec, ...]) -> tuple[list[list[str]], list[str]]:
    """Labels of each operand and of the result; an ellipsis becomes labels of its own."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    operands: list[list[str]] = []
    ellipsis: list[str] = []
    for text, tensor in zip(left.split(","), tensors, strict=True):
        before, dots, after = text.partition("...")
        hidden = len(tensor.shape) - len(before) - len(after)
        names = [f"...{i}" for i in reversed(range(hidden))] if dots else []
        ellipsis = max(ellipsis, names, key=len)
        operands.append([*before, *names, *after])
    if not arrow:
        every = [label for labels in operands for label in labels if label not in ellipsis]
        return operands, [*ellipsis, *sorted(x for x in set(every) if every.count(x) == 1)]
    before, dots, after = right.partition("...")
    return operands, [*before, *(ellipsis if dots else []), *after]


@rule("aten.einsum")
def _einsum(call: Call) -> Cost:
    """Contracted from left to right; a step that sums over nothing is a pointwise product."""
    tensors = tuple(t for t in call.tensors())
    operands, result = _labels(str(call.args["equation"]), tensors)
    size: dict[str, Size] = {}
    for labels, tensor in zip(operands, tensors, strict=True):
        for label, length in zip(labels, tensor.shape, strict=True):
            if label not in size or (isinstance(size[label], int) and size[label] == 1):
                size[label] = length
    matmul: Size = 0
    other: Size = 0
    have = set(operands[0])
    for step, labels in enumerate(operands[1:], start=1):
        needed = set(result).union(*operands[step + 1 :])
        work = product(size[label] for label in sorted(have | set(labels)))
        if (have & set(labels)) - needed:
            matmul = matmul + 2 * work
        else:
            other = other + work
        have = (have | set(labels)) & needed
    return Cost(
        "matmul",
        flop_matmul=matmul,
        flop_other=other,
        bytes_read=read_bytes(call),
        bytes_written=written_bytes(call),
    )
