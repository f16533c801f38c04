"""What torch writes in place unless a dispatch mode watches; the tracer then does so itself.

Where torch holds the only reference to an operand it often writes a result over it: gradients
that meet in a backward pass, the bias of a linear layer whose input is not contiguous, gradients
scattered into zeros. While a mode is active it never does, and allocates what an ordinary run
does not.
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

_ADD = torch.ops.aten.add.Tensor
IN_PLACE: Mapping[Any, Any] = {
    _ADD: torch.ops.aten.add_.Tensor,
    torch.ops.aten.index_add.default: torch.ops.aten.index_add_.default,
    torch.ops.aten.index_put.default: torch.ops.aten.index_put_.default,
    torch.ops.aten.scatter.src: torch.ops.aten.scatter_.src,
    torch.ops.aten.scatter.value: torch.ops.aten.scatter_.value,
    torch.ops.aten.scatter_add.default: torch.ops.aten.scatter_add_.default,
}
_PRODUCTS = ("aten.mm.default", "aten.bmm.default")


def ordinary(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], made_by: str) -> Any:
    """The operator that an ordinary run calls where one under a mode calls ``func``.

    ``func`` is one of :data:`IN_PLACE`; ``made_by`` is the operator before it, if that made the
    first argument, else "".
    """
    alone = unshared_references()
    if alone is None:
        return func
    # Names of our own for the operands would be counted, so there are none.
    references = _references(args)
    backward = torch._C._current_autograd_node() is not None and not torch.is_grad_enabled()
    if func is not _ADD:
        # Torch's own code made the zeros a moment ago for this.
        fits = backward and made_by == "aten.new_zeros.default" and references[1] == alone[1]
    elif references != alone or kwargs or not isinstance(args[1], torch.Tensor):
        fits = False
    elif backward:
        fits = args[0].shape == args[1].shape and _dense(args[0])
    else:
        fits = made_by in _PRODUCTS and args[0].shape[-1:] == args[1].shape
    return IN_PLACE[func] if fits else func


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
        if func is _ADD:
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
