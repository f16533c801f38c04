"""Pointwise operators: how many scalar operations each output element takes.

One operation is one of what hardware or a maths library offers as a single step: an addition, a
multiplication, a comparison or a selection, a square root, an exponential, a logarithm, ``tanh``,
``erf``. Functions composed of those count their parts, written out below: a sigmoid
``1 / (1 + exp(-x))`` is 4, SiLU 5, GELU 5 with ``erf`` and 9 with ``tanh``. Broadcasting repeats
the work, so it is the output's elements that count. A scale argument (``alpha``, ``value``) that
is not 1 is one more multiplication. In complex arithmetic a multiplication is 6 real operations, a
division 11, everything else twice the real count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from costlab.algebra import Expr, Size, total
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, rule, scalar_is, tensors_of
from costlab.rules.promotion import cast_bytes, number_bytes

_ONE_OPERATION = (
    # arithmetic
    "add", "sub", "rsub", "mul", "div", "floor_divide", "fmod", "remainder", "neg", "abs",
    "square", "reciprocal", "sqrt", "rsqrt", "pow", "float_power", "maximum", "minimum", "fmax",
    "fmin", "relu", "clamp_min", "clamp_max",
    # functions of the maths library
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv",
    "lgamma", "digamma", "special_i0", "special_i0e", "special_i1", "special_i1e", "ceil", "floor",
    "round", "trunc", "frac", "sign", "sgn", "signbit", "copysign", "nextafter", "nan_to_num",
    "angle", "conj_physical", "_conj_physical", "deg2rad", "rad2deg", "ldexp", "i0", "gcd",
    "special_erfcx", "special_log_ndtr", "special_ndtri",
    # comparisons, selections, logic
    "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isposinf", "isneginf", "isfinite",
    "where", "masked_fill", "threshold_backward", "logical_and", "logical_or", "logical_xor",
    "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift",
    "bitwise_right_shift",
)  # fmt: skip

OPERATIONS_PER_ELEMENT: dict[str, int] = {
    **dict.fromkeys(_ONE_OPERATION, 1),
    "threshold": 2,  # compare, select
    "hardtanh": 2,  # two bounds
    "hardtanh_backward": 3,  # two comparisons, select
    "relu6": 2,
    "leaky_relu": 2,  # compare, multiply
    "leaky_relu_backward": 2,
    "_prelu_kernel": 2,
    "_prelu_kernel_backward": 4,  # compare, two gradients, select
    "heaviside": 2,
    "logaddexp": 6,  # maximum, difference, absolute, exponential, log1p, add
    "logaddexp2": 6,
    "xlogy": 2,
    "hypot": 4,
    "sinc": 3,
    "lerp": 3,  # self + weight * (end - self)
    "addcmul": 2,  # self + t1 * t2, one more with a value
    "addcdiv": 2,
    "sigmoid": 4,  # negate, exponential, add, divide
    "sigmoid_backward": 3,  # g * (1 - y) * y
    "tanh_backward": 3,  # g * (1 - y * y)
    "logit": 3,  # log(x / (1 - x))
    "logit_backward": 3,
    "silu": 5,  # x * sigmoid(x)
    "silu_backward": 9,  # s = sigmoid(x), then g * s * (1 + x * (1 - s))
    "mish": 4,  # x * tanh(log1p(exp(x)))
    "mish_backward": 13,  # t = tanh(softplus(x)), s = sigmoid(x), g * (t + x * s * (1 - t * t))
    "softplus": 5,  # scale, compare, exponential, log1p, divide
    "softplus_backward": 6,  # scale, compare, exponential, multiply, add, divide
    "log_sigmoid_forward": 6,  # min(x, 0) - log1p(exp(-abs(x)))
    "log_sigmoid_backward": 6,
    "elu": 4,  # compare, scale, expm1, scale
    "elu_backward": 5,
    "celu": 4,
    "selu": 4,
    "hardsigmoid": 4,  # min(max(x + 3, 0), 6) / 6
    "hardsigmoid_backward": 4,
    "hardswish": 5,
    "hardswish_backward": 6,
    "hardshrink": 2,
    "hardshrink_backward": 2,
    "softshrink": 3,
    "softshrink_backward": 2,
    "glu": 5,  # a * sigmoid(b)
    "polar": 4,  # cosine, sine, two products
    "complex": 0,
}
"""Scalar operations per output element, real numbers, by operator name without ``aten.``."""

GELU_OPERATIONS = {"none": 5, "tanh": 9}
"""``x * 0.5 * (1 + erf(x * c))``; ``0.5 * x * (1 + tanh(c * (x + c2 * x * x * x)))``."""
GELU_BACKWARD_OPERATIONS = {"none": 11, "tanh": 18}
"""Kernels of torch: normal density and distribution; the derivative of the tanh form."""
GLU_BACKWARD_OPERATIONS = 9
"""Per pair: the sigmoid s (4), ``s * g``, ``(1 - s) * s * g * a``."""

_COMPLEX_OPERATIONS = {"mul": 6, "div": 11, "abs": 4, "angle": 1}
_OPERATOR_METHODS = tuple(
    f"aten.__{prefix}{name}__"
    for prefix in ("", "i")
    for name in ("and", "or", "xor", "lshift", "rshift")
)
_WRAPS_NUMBERS = frozenset(
    ("add", "sub", "rsub", "mul", "div", "floor_divide", "fmod", "remainder", "pow", "eq", "ne",
     "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
     "bitwise_right_shift", *(op.split(".")[1] for op in _OPERATOR_METHODS))
)  # fmt: skip
_NEVER_CAST = ("masked_fill", "polar", "complex")
_LISTS_WRAP_NUMBERS = ("add", "sub", "mul", "div")
_SCALES = {
    **dict.fromkeys(("add", "sub", "rsub"), ("alpha",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("value", "scalars")),
}
_NOT_READ = ("out", "grad_input")
_NOT_CAST = (*_NOT_READ, "mask", "condition")


def outputs(call: Call) -> tuple[TensorSpec, ...]:
    """What the call writes: its outputs, or the lists that an in-place list operator updates."""
    return call.outs or tuple(tensors_of(call, "self"))


def list_launches(call: Call) -> int:
    """Kernels a list operator runs: one per tensor on a CPU, one in all on a GPU."""
    count = len(outputs(call))
    return count if call.backend == "cpu" else 1


def pointwise(call: Call, per_element: Size, kind: str = "elementwise") -> Cost:
    """Cost of an operator that does ``per_element`` scalar operations per output element."""
    written = outputs(call)
    return Cost(
        kind,
        flop_other=written[0].numel * per_element,
        bytes_read=bytes_of(call, *(name for name in call.args if name not in _NOT_READ)),
        bytes_written=total(t.nbytes for t in written),
    )


def _base_name(op: str) -> str:
    """``"aten._foreach_add_.List"`` -> ``"add"``."""
    name = op.split(".")[1].removeprefix("_foreach_")
    return name if name.endswith("__") else name.removesuffix("_")


def _is_number(call: Call, name: str) -> bool:
    return isinstance(call.args.get(name), (int, float, Expr))


def _operations(call: Call) -> int:
    name = _base_name(call.op)
    count = OPERATIONS_PER_ELEMENT.get(name, 1)
    scales = _SCALES.get(name, ())
    count += sum(call.has(scale) and not scalar_is(call, scale, 1) for scale in scales)
    are_complex = [t.dtype.startswith("complex") for t in tensors_of(call, "self", "other")]
    if not any(are_complex):
        return count
    whole = all(are_complex) and name in _COMPLEX_OPERATIONS
    return _COMPLEX_OPERATIONS[name] if whole else 2 * count


def _variants(names: Iterable[str]) -> list[str]:
    return [f"aten.{name}{end}" for name in names for end in ("", "_")]


@rule(*_variants(OPERATIONS_PER_ELEMENT), *_OPERATOR_METHODS)
def _tabled(call: Call) -> Cost:
    name = _base_name(call.op)
    operands = tuple(key for key in call.args if key not in _NOT_CAST)
    number = None
    if name in _WRAPS_NUMBERS:
        number = next((call.args[key] for key in ("self", "other") if _is_number(call, key)), None)
    scratch: Size = 0 if name in _NEVER_CAST else cast_bytes(call, operands, number)
    return replace(pointwise(call, _operations(call)), scratch_bytes=scratch)


@rule(*_variants(f"_foreach_{name}" for name in OPERATIONS_PER_ELEMENT))
def _tabled_list(call: Call) -> Cost:
    written = outputs(call)
    scratch = 0
    if _base_name(call.op) in _LISTS_WRAP_NUMBERS and written:
        numbers = call.args.get("scalars", call.args.get("scalar"))
        number = numbers[0] if isinstance(numbers, tuple) else numbers
        scratch = number_bytes(number, written[0].dtype)
    other = call.args.get("other")
    if isinstance(other, TensorSpec) and any(other.dtype != t.dtype for t in written):
        scratch = written[0].itemsize
    return Cost(
        "elementwise",
        flop_other=total(t.numel for t in written) * _operations(call),
        bytes_read=bytes_of(call, *call.args),
        bytes_written=total(t.nbytes for t in written),
        scratch_bytes=scratch if call.backend == "cpu" else 0,
        launches=list_launches(call),
    )


@rule("aten.clamp", "aten.clamp_", "aten.clip", "aten.clip_")
def _clamp(call: Call) -> Cost:
    return pointwise(call, sum(call.has(bound) for bound in ("min", "max")))


@rule("aten.gelu", "aten.gelu_")
def _gelu(call: Call) -> Cost:
    return pointwise(call, GELU_OPERATIONS[str(call.args.get("approximate", "none"))])


@rule("aten.gelu_backward")
def _gelu_backward(call: Call) -> Cost:
    """In float32 on a CPU, oneDNN takes a copy of an expanded operand."""
    copies: Size = 0
    if call.backend == "cpu" and call.outs[0].dtype == "float32":
        copies = total(
            t.nbytes
            for t in tensors_of(call, "grad_output", "self")
            if any(isinstance(stride, int) and stride == 0 for stride in t.stride)
        )
    operations = GELU_BACKWARD_OPERATIONS[str(call.args.get("approximate", "none"))]
    return replace(pointwise(call, operations), scratch_bytes=copies)


@rule("aten.glu_backward")
def _glu_backward(call: Call) -> Cost:
    return Cost(
        "elementwise",
        flop_other=call.tensor("grad_output").numel * GLU_BACKWARD_OPERATIONS,
        bytes_read=bytes_of(call, "grad_output", "self"),
        bytes_written=total(t.nbytes for t in call.outs),
    )


@rule("aten._amp_foreach_non_finite_check_and_unscale_")
def _unscale(call: Call) -> Cost:
    tensors = tuple(tensors_of(call, "self"))
    elements = total(t.numel for t in tensors)
    size = total(t.nbytes for t in tensors)
    return Cost("elementwise", flop_other=2 * elements, bytes_read=size, bytes_written=size)
