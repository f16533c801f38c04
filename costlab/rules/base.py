"""What a cost rule is, and the registry of rules by operator name.

A rule is a pure function of one :class:`~costlab.graph.Call` (shapes and attributes, ints or
expressions alike) that returns a :class:`Cost`. Conventions: one multiply-add is 2 FLOP;
``flop_matmul`` is the dense arithmetic of matrix products, exactly what torch's FlopCounterMode
counts where it has a formula; ``flop_other`` is everything else, one per scalar operation. Bytes
are elements addressed, read and written, times the element size. ``scratch_bytes`` is what the
kernel allocates and frees by itself. An operator without a rule is a gap; it is never counted as
zero silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from costlab.algebra import Size, total
from costlab.graph import Arg, Call, TensorSpec

KINDS = (
    "matmul",
    "attention",
    "elementwise",
    "softmax",
    "norm",
    "reduction",
    "copy",
    "gather",
    "sort",
    "fft",
    "convolution",
    "recurrent",
    "none",
)
"""Operator classes with a rate of their own on a machine; "none" runs no kernel."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one call. ``kind`` is the operator class that has a rate of its own on a machine."""

    kind: str
    flop_matmul: Size = 0
    flop_other: Size = 0
    flop_useful: Size | None = None  # useful part of flop_matmul; None: all of it
    bytes_read: Size = 0
    bytes_written: Size = 0
    scratch_bytes: Size = 0
    launches: Size = 1
    steps: Size = 1


Rule = Callable[[Call], Cost]
_RULES: dict[str, Rule] = {}


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators, e.g. ``"aten.mm"`` (all overloads) or ``"aten.mul.Tensor"``.

    Raises:
        ValueError: if one of ``ops`` already has a rule.
    """

    def register(function: Rule) -> Rule:
        for op in ops:
            if op in _RULES:
                raise ValueError(f"{op} has a rule already: {_RULES[op].__name__}")
            _RULES[op] = function
        return function

    return register


def find_rule(op: str) -> Rule | None:
    """Rule for a full operator name ("aten.mm.default"): the overload's own, else the packet's."""
    return _RULES.get(op) or _RULES.get(op.rsplit(".", 1)[0])


OpaqueSize = Callable[[Call], "Size | None"]
_OPAQUE: dict[tuple[str, int], OpaqueSize] = {}


def opaque_output(op: str, index: int) -> Callable[[OpaqueSize], OpaqueSize]:
    """Register the size of output ``index`` of ``op``, a block whose size only its kernel knows.

    The function gets the call without outputs and returns the number of elements, or None where
    the output has an ordinary shape.
    """

    def register(function: OpaqueSize) -> OpaqueSize:
        _OPAQUE[(op, index)] = function
        return function

    return register


def opaque_size(call: Call, index: int) -> Size | None:
    """Elements of output ``index`` of ``call`` if it is opaque, else None."""
    function = _OPAQUE.get((call.op.rsplit(".", 1)[0], index))
    return function(call) if function is not None else None


def read_bytes(call: Call) -> Size:
    """Bytes of every tensor argument, as addressed."""
    return total(t.nbytes for t in call.tensors())


def written_bytes(call: Call) -> Size:
    """Bytes of every output, as addressed."""
    return total(t.nbytes for t in call.outs)


def tensors_of(call: Call, *names: str) -> Iterator[TensorSpec]:
    """Tensors among the named arguments, nested lists flattened; absent names are skipped."""

    def walk(value: Arg) -> Iterator[TensorSpec]:
        if isinstance(value, TensorSpec):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                yield from walk(item)

    for name in names:
        yield from walk(call.args.get(name))


def bytes_of(call: Call, *names: str) -> Size:
    """Bytes of the tensors among the named arguments, as addressed."""
    return total(t.nbytes for t in tensors_of(call, *names))


def scalar_is(call: Call, name: str, value: float) -> bool:
    """Whether the number passed as ``name`` equals ``value``; False if absent or symbolic."""
    given = call.args.get(name)
    return isinstance(given, (int, float)) and given == value
