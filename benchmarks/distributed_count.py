"""What a process of a distributed run moved and held, counted from the outside.

A dispatch mode sees every operator of c10d with its tensors; hooks of autograd see what is saved
for backward; the kernel says what went over the process's TCP connections.
"""

from __future__ import annotations

import inspect
import os
import socket
import struct
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

_KINDS = {
    "allreduce_": "all_reduce",
    "allreduce_coalesced_": "all_reduce",
    "all_reduce": "all_reduce",
    "all_reduce_": "all_reduce",
    "_allgather_base_": "all_gather",
    "allgather_": "all_gather",
    "allgather_into_tensor_coalesced_": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "_reduce_scatter_base_": "reduce_scatter",
    "reduce_scatter_": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_coalesced_": "reduce_scatter",
    "broadcast_": "broadcast",
    "broadcast": "broadcast",
    "alltoall_base_": "all_to_all",
    "alltoall_": "all_to_all",
    "all_to_all_single": "all_to_all",
    "send": "send",
    "recv_": "receive",
}
_NONE = frozenset({"wait_tensor", "_wrap_tensor_autograd", "barrier", "monitored_barrier_"})

Key = tuple[str, str, str]
"""Kind, name of the group, phase."""


class Traffic(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Calls and bytes of the whole arrays of collectives, by kind, group and phase."""

    def __init__(self, groups: dict[str, str] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.groups = groups or {}
        self.phase = "forward"
        self.calls: dict[Key, int] = defaultdict(int)
        self.bytes: dict[Key, int] = defaultdict(int)
        self.unknown: set[str] = set()
        self.gradients: set[int] = set()  # addresses of tensors that are sent backward

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if any(issubclass(one, DTensor) for one in types):
            return NotImplemented  # its own operators are seen once it has made them
        result = func(*args, **(kwargs or {}))
        if func.namespace in ("c10d", "_c10d_functional", "_c10d_functional_autograd"):
            self._note(func.__name__.partition(".")[0], args, kwargs or {}, result)
        return result

    def _note(self, name: str, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        kind = _KINDS.get(name)
        if kind is None:
            if name not in _NONE:
                self.unknown.add(name)
            return
        phase = self.phase
        if kind == "send" and args[0][0].data_ptr() in self.gradients:
            self.gradients.discard(args[0][0].data_ptr())
            phase = "backward"
        key = (kind, self._group((*args, *kwargs.values())), phase)
        self.calls[key] += 1
        # Operators of c10d take (output, input, ..); functional ones take the input alone.
        if kind == "all_gather":
            whole = args[0] if name.endswith("_") else result
        elif kind == "reduce_scatter":
            whole = args[1] if name.endswith("_") else args[0]
        else:
            whole = args[0]
        self.bytes[key] += sum(one.nbytes for one in _tensors(whole))

    def _group(self, values: Iterable[Any]) -> str:
        for value in values:
            if isinstance(value, str) and value in self.groups:
                return self.groups[value]
            if isinstance(value, torch.ScriptObject):
                try:
                    name = dist.ProcessGroup.unbox(value).group_name
                except RuntimeError:
                    continue  # the operation, such as a sum
                return self.groups.get(name, name)
        return ""

    def rows(self) -> list[dict[str, Any]]:
        """The counts as plain data."""
        return [
            {"kind": kind, "group": group, "phase": phase, "calls": self.calls[kind, group, phase],
             "bytes": number}
            for (kind, group, phase), number in sorted(self.bytes.items())
        ]  # fmt: skip


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def local(tensor: Tensor) -> Tensor:
    """What this rank holds of a tensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def storage_bytes(tensors: Iterable[Tensor | None]) -> int:
    """Bytes of the distinct storages of tensors, of this rank's share where they are divided."""
    held = {}
    for tensor in tensors:
        if tensor is not None:
            storage = local(tensor).untyped_storage()
            held[storage._cdata] = storage.nbytes()
    return sum(held.values())


class _Holder:
    """Keeps a saved tensor, so that its release is seen."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class Kept:
    """Bytes that autograd holds for backward, now and at most; parameters are not counted."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.now = 0
        self.most = 0
        self._apart = {local(one).untyped_storage()._cdata for one in parameters}
        self._holders: dict[int, int] = defaultdict(int)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Count what is saved inside."""
        with torch.autograd.graph.saved_tensors_hooks(self._pack, lambda holder: holder.tensor):
            yield

    def _pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder(tensor)
        base = tensor if tensor._base is None else tensor._base
        if isinstance(base, nn.Parameter):
            return holder
        storage = local(tensor).untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self._apart:
            return holder
        if not self._holders[key]:
            self.now += size
            self.most = max(self.most, self.now)
        self._holders[key] += 1
        weakref.finalize(holder, self._drop, key, size)
        return holder

    def _drop(self, key: int, size: int) -> None:
        self._holders[key] -= 1
        if not self._holders[key]:
            self.now -= size


_ACKED_AT = 120  # of struct tcp_info in linux/tcp.h: bytes acknowledged by the other side
_INFO = 256


def wire_bytes() -> int | None:
    """Bytes that this process's TCP connections have delivered; None where nobody says."""
    option = getattr(socket, "TCP_INFO", None)
    if option is None or not os.path.isdir("/proc/self/fd"):
        return None
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as one:
                info = one.getsockopt(socket.IPPROTO_TCP, option, _INFO)
        except OSError:
            continue  # closed since, or not of TCP
        total += struct.unpack_from("Q", info, _ACKED_AT)[0] if len(info) >= _ACKED_AT + 8 else 0
    return total


# torch wraps a mode's handler so that torch.compile skips it; the wrapper imports torch._dynamo.
Traffic.__torch_dispatch__ = inspect.unwrap(Traffic.__torch_dispatch__)  # type: ignore[method-assign]
