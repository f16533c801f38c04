"""What cost rules read: operator calls with shapes as numbers or functions of the sizes.

Plain frozen data without torch: a :class:`Call` with its tensors, and a :class:`Moment` of the
memory timeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Union

from costlab.algebra import Size, product

DTYPE_BYTES: Mapping[str, int] = {
    "float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "complex64": 8, "complex128": 16,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and stride in elements, dtype name, and which storage (an id local to the trace)."""

    shape: tuple[Size, ...]
    stride: tuple[Size, ...]
    dtype: str
    storage: int = -1

    @property
    def numel(self) -> Size:
        """Elements addressed (an expanded or overlapping view counts each address)."""
        return product(self.shape)

    @property
    def itemsize(self) -> int:
        return DTYPE_BYTES[self.dtype]

    @property
    def nbytes(self) -> Size:
        return self.numel * self.itemsize


Scalar = Union[bool, float, str, None, Size]
Arg = Union[Scalar, TensorSpec, tuple["Arg", ...]]


@dataclass(frozen=True, slots=True)
class Call:
    """One operator call as a cost rule sees it.

    ``args`` are keyed by the operator's schema names ("self", "mat2", "dim", ...), with defaults
    left out; ``outs`` are the tensors it returns. ``kept`` is, for an operator that takes or
    produces attention scores under a mask, how many of them the mask keeps (None: all).
    ``backend`` is "cpu" or "cuda".
    """

    op: str
    args: Mapping[str, Arg]
    outs: tuple[TensorSpec, ...]
    backend: str = "cpu"
    kept: Size | None = None

    def tensor(self, name: str) -> TensorSpec:
        value = self.args[name]
        if not isinstance(value, TensorSpec):
            raise TypeError(f"{self.op}: argument {name} is not a tensor")
        return value

    def has(self, name: str) -> bool:
        """Whether ``name`` was passed and is not None."""
        return self.args.get(name) is not None

    def tensors(self) -> Iterator[TensorSpec]:
        """Every tensor among the arguments, in order, nested lists flattened."""

        def walk(value: Arg) -> Iterator[TensorSpec]:
            if isinstance(value, TensorSpec):
                yield value
            elif isinstance(value, tuple):
                for item in value:
                    yield from walk(item)

        for value in self.args.values():
            yield from walk(value)


@dataclass(frozen=True, slots=True)
class Moment:
    """Bytes alive while one operator runs, by kind, and where it is in the program."""

    label: str
    live: Mapping[str, Size]
