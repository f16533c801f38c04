"""What CPU kernels allocate for mixed types: casts of operands, numbers wrapped as tensors.

A pointwise kernel on a CPU computes in one common type and casts every other operand into a
buffer first; a number operand becomes a tensor of one 64-bit element and is cast likewise. CUDA
kernels cast in registers and allocate nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from costlab.algebra import Expr, Size, total
from costlab.graph import DTYPE_BYTES, Call, TensorSpec
from costlab.rules.base import tensors_of

_HALF = ("bfloat16", "float16")
_WRAPPED_BYTES = 8
DEFAULT_DTYPE = "float32"


def is_half(dtype: str) -> bool:
    """Whether ``dtype`` is a 16-bit floating-point type."""
    return dtype in _HALF


def _category(dtype: str) -> int:
    if dtype == "bool":
        return 0
    if dtype.startswith(("int", "uint")):
        return 1
    return 3 if dtype.startswith("complex") else 2


def _wider(a: str, b: str) -> str:
    """Common type of two types of one category, or of a real and a complex one."""
    if _category(a) == 3 or _category(b) == 3:
        return "complex128" if {a, b} & {"float64", "complex128"} else "complex64"
    if a != b and is_half(a) and is_half(b):
        return "float32"
    return a if DTYPE_BYTES[a] >= DTYPE_BYTES[b] else b


def common_dtype(tensors: Iterable[TensorSpec], number: object = None) -> str:
    """Torch's result type: tensors without dimensions and numbers count only by category."""
    full, single = "bool", "bool"
    for tensor in tensors:
        known = full if tensor.shape else single
        level, other = _category(tensor.dtype), _category(known)
        best = tensor.dtype if level > other else known
        if level == other or (max(level, other) == 3 and min(level, other) == 2):
            best = _wider(tensor.dtype, known)
        full, single = (best, single) if tensor.shape else (full, best)
    raised = _category(single) > _category(full)
    result = single if raised else full
    if raised and full == "float64":
        result = "complex128"
    if isinstance(number, float) and _category(result) < 2:
        return DEFAULT_DTYPE
    if isinstance(number, (int, Expr)) and not isinstance(number, bool) and result == "bool":
        return "int64"
    return result


def number_bytes(number: object, dtype: str) -> int:
    """Scratch of a number operand of a kernel that computes in ``dtype``; 0 for anything else."""
    if isinstance(number, bool) or not isinstance(number, (int, float, Expr)):
        return 0
    wrapped = "float64" if isinstance(number, float) else "int64"
    return _WRAPPED_BYTES + (0 if dtype == wrapped else DTYPE_BYTES[dtype])


def cast_bytes(call: Call, operands: tuple[str, ...], number: object = None) -> Size:
    """Scratch of a pointwise call on a CPU; ``number`` is its number operand, if it has one."""
    if call.backend != "cpu":
        return 0
    tensors = tuple(tensors_of(call, *operands))
    common = common_dtype(tensors, number)
    result = call.outs[0].dtype if call.outs else common
    in_place = call.op.split(".")[1].endswith("_")
    if not in_place and result != "bool" and _category(result) > _category(common):
        common = result
    casts = [t for t in tensors if t.dtype != common]
    if in_place and call.outs and result != common:
        casts.append(call.outs[0])
    return total(t.numel for t in casts) * DTYPE_BYTES[common] + number_bytes(number, common)
