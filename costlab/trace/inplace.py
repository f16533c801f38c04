"""Sums that torch writes in place unless a dispatch mode watches; the tracer writes them so too.

Two sums matter to memory: gradients that meet in a backward pass, and the bias of a linear layer
whose input is not contiguous. torch adds in place where it holds the only reference to the first
operand, but never while a mode is active, and then allocates what an ordinary run does not.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

ADD = torch.ops.aten.add.Tensor
ADD_IN_PLACE = torch.ops.aten.add_.Tensor


def adds_in_place(args: tuple[Any, ...], kwargs: Mapping[str, Any], after_product: bool) -> bool:
    """Whether an ordinary run would write the sum ``ADD(*args, **kwargs)`` into its first operand.

    ``after_product``: the operator before was the matrix product that made the first operand.
    """
    # Names of our own for the operands would be counted, so this comes first.
    if kwargs or len(args) != 2 or _references(args) != unshared_references():
        return False
    into, other = args
    if not isinstance(other, torch.Tensor) or into.dtype != other.dtype or not _dense(into):
        return False
    if torch._C._current_autograd_node() is not None and not torch.is_grad_enabled():
        return bool(into.shape == other.shape)
    return after_product and bool(other.shape == into.shape[-1:])


def _dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill one block of memory without gaps or overlaps."""
    step = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def _references(args: tuple[Any, ...]) -> tuple[int, int, int]:
    """References to the first argument: torch's, Python's, and those to its storage."""
    storage = args[0].untyped_storage()._cdata
    return args[0]._use_count(), sys.getrefcount(args[0]), torch._C._storage_Use_Count(storage)


class _Probe(TorchDispatchMode):
    """Notes the references to the first operand of every sum."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, int, int]] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is ADD:
            self.seen.append(_references(args))
        return func(*args, **(kwargs or {}))


_Probe.__torch_dispatch__ = inspect.unwrap(_Probe.__torch_dispatch__)  # type: ignore[method-assign]


@lru_cache(maxsize=1)
def unshared_references() -> tuple[int, int, int] | None:
    """What is counted where torch alone holds the operand, once. First call: outside any mode."""
    probe = _Probe()
    with torch.no_grad(), probe:
        F.linear(torch.zeros(2, 3, 1).transpose(0, 1), torch.zeros(1, 1), torch.zeros(1))
    return probe.seen[0] if probe.seen else None
