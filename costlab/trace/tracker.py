"""Runs a program once on real tensors and records every operator and every storage's lifetime.

A dispatch mode below autograd sees each ATen operator with its concrete tensors. Views are not
recorded: they cost nothing and alias a storage that is tracked already. A storage's death is the
moment its memory is released, seen through a weak reference to the storage object.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode

from costlab.graph import Arg, TensorSpec
from costlab.trace.inplace import IN_PLACE, ordinary, unshared_references
from costlab.trace.kept import kept_entries, seen_entries
from costlab.trace.records import OpRecord, StorageRecord

_ACCUMULATE = 2**64 - 1  # sequence number that autograd gives to AccumulateGrad
_DTYPE_NAMES: dict[torch.dtype, str] = {}


def dtype_name(dtype: torch.dtype) -> str:
    name = _DTYPE_NAMES.get(dtype)
    if name is None:
        name = _DTYPE_NAMES[dtype] = str(dtype).removeprefix("torch.")
    return name


class Tracker(TorchDispatchMode):
    """Records operators and storages while active. Seed it with what exists before the run."""

    supports_higher_order_operators = True

    def __init__(self, locate: bool = False) -> None:
        super().__init__()
        unshared_references()
        self.locate = locate
        self.ops: list[OpRecord] = []
        self.storages: list[StorageRecord] = []
        self.phase = "forward"
        self.modules: list[str] = [""]
        self._ids: dict[int, int] = {}
        self._refs: dict[int, weakref.ref[Any]] = {}
        self._places: dict[int, tuple[str, str]] = {}  # module and line by sequence number
        self._sequences: list[int] = []
        self._schemas: dict[Any, tuple[str, tuple[str, ...], bool]] = {}

    # -- storages ----------------------------------------------------------------------------

    def storage_id(self, tensor: torch.Tensor, kind: str | None = None) -> int:
        """Id of the tensor's storage; registers it as born now (or before, if ``kind``)."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        found = self._ids.get(key)
        if found is not None:
            return found
        number = len(self.storages)
        birth = -1 if kind is not None else len(self.ops)
        self.storages.append(StorageRecord(storage.nbytes(), birth, kind=kind or "temporary"))
        self._ids[key] = number

        def died(_: Any, key: int = key, number: int = number) -> None:
            self._ids.pop(key, None)
            self._refs.pop(number, None)
            self.storages[number].death = len(self.ops)

        self._refs[number] = weakref.ref(storage, died)
        return number

    def mark(self, tensors: Iterable[torch.Tensor], **flags: Any) -> None:
        """Set fields of the records of known storages (unknown ones are ignored)."""
        for tensor in tensors:
            number = self._ids.get(tensor.untyped_storage()._cdata)
            if number is not None:
                for name, value in flags.items():
                    setattr(self.storages[number], name, value)

    def mark_alive(self, but: Iterable[torch.Tensor], **flags: Any) -> None:
        """Set fields of the records of temporaries that are alive, results and ``but`` left out."""
        known = {self._ids.get(tensor.untyped_storage()._cdata) for tensor in but}
        for number in self._refs.keys() - known:
            record = self.storages[number]
            if record.kind == "temporary" and not record.result:
                for name, value in flags.items():
                    setattr(record, name, value)

    def close(self) -> None:
        """Stop watching storages; those still alive keep their death open."""
        self._refs.clear()

    # -- operators ---------------------------------------------------------------------------

    def _spec(self, tensor: torch.Tensor) -> TensorSpec:
        try:
            stride = tuple(tensor.stride())
            number = self.storage_id(tensor)
        except (NotImplementedError, RuntimeError):  # sparse or opaque layouts
            stride, number = (), -1
        return TensorSpec(tuple(tensor.shape), stride, dtype_name(tensor.dtype), number)

    def _arg(self, value: Any) -> Arg:
        if isinstance(value, torch.Tensor):
            return self._spec(value)
        if isinstance(value, (bool, int, float, str)) or value is None:
            return value
        if isinstance(value, (list, tuple)):
            return tuple(self._arg(item) for item in value)
        return str(value)

    def _schema(self, func: Any) -> tuple[str, tuple[str, ...], bool]:
        found = self._schemas.get(func)
        if found is None:
            schema = getattr(func, "_schema", None)
            names = tuple(a.name for a in schema.arguments) if schema is not None else ()
            found = (str(func), names, bool(schema is not None and schema.is_mutable))
            self._schemas[func] = found
        return found

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "is_view", False):
            self._view_ran()
            return func(*args, **kwargs)
        if func in IN_PLACE:
            func = self._as_run(func, args, kwargs)
        name, names, mutable = self._schema(func)
        spec_args: dict[str, Arg] = {
            (names[i] if i < len(names) else f"arg{i}"): self._arg(value)
            for i, value in enumerate(args)
        }
        for key, value in kwargs.items():
            spec_args[key] = self._arg(value)
        known = len(self.storages)
        result = self._run(func, args, kwargs)
        out_tensors = list(_flatten(result))
        outs = tuple(self._spec(t) for t in out_tensors)
        new = tuple(o.storage >= known for o in outs)
        if outs and not mutable and not any(new):
            self._view_ran()
            return result
        reads = tuple(dict.fromkeys(s.storage for s in _specs(spec_args.values())))
        writes = tuple(dict.fromkeys(o.storage for o in outs))
        if mutable and not outs:
            writes = reads[:1]
        module, sequence, where = self._place()
        record = OpRecord(
            op=name, args=spec_args, outs=outs, module=module, phase=self.phase, reads=reads,
            writes=writes, new=new, sequence=sequence, where=where,
        )  # fmt: skip
        self._note_mask(record, (args, kwargs), out_tensors)
        self.ops.append(record)
        return result

    def _as_run(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What an ordinary run calls for ``func``, which it may write in place."""
        return ordinary(func, args, kwargs, self._made_by(args))

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return func(*args, **kwargs)

    def _made_by(self, args: tuple[Any, ...]) -> str:
        """The operator before, if it made the first argument."""
        last = self.ops[-1] if self.ops else None
        if last is None or not args or not isinstance(args[0], torch.Tensor):
            return ""
        made = self._ids.get(args[0].untyped_storage()._cdata)
        return last.op if last.writes == (made,) else ""

    def _view_ran(self) -> None:
        if torch._C._current_autograd_node() is None:
            self._remember_place()

    def _remember_place(self) -> tuple[str, str]:
        """Module and line of what runs now, kept for the backward pass of its node."""
        place = self.modules[-1], _user_line() if self.locate else ""
        sequence = torch._C._autograd._get_sequence_nr()
        if sequence not in self._places:
            self._places[sequence] = place
            self._sequences.append(sequence)
        return place

    def _place(self) -> tuple[str, int, str]:
        """Module, sequence number and line of the operator that just ran.

        Autograd makes an operator's node, and takes its number, before the operator runs: what a
        forward operator sees is its node's number plus one. A write into a view makes a further
        node afterwards, which no operator sees; it belongs to the one before. A module on the
        stack while a node runs is recomputation.
        """
        node = torch._C._current_autograd_node()
        if node is None or len(self.modules) > 1:
            module, where = self._remember_place()
            return module, torch._C._autograd._get_sequence_nr(), where
        sequence = node._sequence_nr()
        if sequence == _ACCUMULATE:
            last = self.ops[-1] if self.ops else None
            return (last.module, sequence, last.where) if last else ("", sequence, "")
        position = bisect_right(self._sequences, sequence + 1) - 1
        module, where = self._places[self._sequences[position]] if position >= 0 else ("", "")
        return module, sequence, where

    def _note_mask(
        self, record: OpRecord, given: tuple[Any, ...], outs: list[torch.Tensor]
    ) -> None:
        packet = record.op.rsplit(".", 1)[0]
        if "attention" in packet:
            args, kwargs = given
            named = dict(zip(record.args, (*args, *kwargs.values()), strict=True))
            masks = [named[name] for name in ("attn_mask", "attn_bias") if name in named]
            if masks and isinstance(masks[0], torch.Tensor):
                record.kept = seen_entries(masks[0], named["query"], named["key"].shape[2])
        elif outs and outs[0].is_floating_point():
            record.kept = kept_entries(packet, given[0], outs[0])
            record.pairs_at = -1 if record.kept is not None else None

    # -- attribution -------------------------------------------------------------------------

    @contextmanager
    def attribute(self, module: torch.nn.Module | None) -> Iterator[None]:
        """Name the module every operator runs in, while inside."""
        if module is None:
            yield
            return
        names = {id(m): path for path, m in module.named_modules()}

        def enter(m: torch.nn.Module, _: Any) -> None:
            self.modules.append(names.get(id(m), self.modules[-1]))

        def leave(m: torch.nn.Module, _: Any, __: Any) -> None:
            self.modules.pop()

        # Hooks on the modules themselves would switch torch's fused encoder paths off.
        before = register_module_forward_pre_hook(enter)
        after = register_module_forward_hook(leave, always_call=True)
        try:
            yield
        finally:
            before.remove()
            after.remove()


def _flatten(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _flatten(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _flatten(item)


def _user_line() -> str:
    """The innermost line of the program that is neither torch's nor the tracer's, if any."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name == "costlab.trace.run":
            return ""  # the program was called here
        if name.split(".")[0] != "torch" and name != __name__:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _specs(values: Iterable[Arg]) -> Iterator[TensorSpec]:
    for value in values:
        if isinstance(value, TensorSpec):
            yield value
        elif isinstance(value, tuple):
            yield from _specs(value)


# torch wraps a mode's handler so that torch.compile skips it, and the wrapper imports
# torch._dynamo on its first call: two seconds that a tracer, never compiled, need not pay.
Tracker.__torch_dispatch__ = inspect.unwrap(Tracker.__torch_dispatch__)  # type: ignore[method-assign]
