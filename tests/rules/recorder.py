"""Records what a piece of torch code calls, as rules see it, together with the real tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import costlab.rules  # noqa: F401  registers every rule
from costlab.graph import Arg, Call, TensorSpec
from costlab.rules.base import Cost, find_rule

_MARK_BYTES = 1_234_577
"""Size of an allocation that marks the start and the end of an operator in the profile."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call, and the tensors that went in and came out."""

    call: Call
    inputs: dict[str, Any]
    outputs: tuple[torch.Tensor, ...]


def spec(tensor: torch.Tensor) -> TensorSpec:
    """The part of a tensor that a rule reads."""
    return TensorSpec(
        tuple(tensor.shape),
        tuple(tensor.stride()),
        str(tensor.dtype).removeprefix("torch."),
        tensor.untyped_storage()._cdata,
    )


def to_arg(value: Any) -> Arg:
    """A tensor as its spec, lists as tuples, numbers and text as they are, the rest as text."""
    if isinstance(value, torch.Tensor):
        return spec(value)
    if isinstance(value, (list, tuple)):
        return tuple(to_arg(item) for item in value)
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _is_view(func: Any, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> bool:
    storages = {t.untyped_storage()._cdata for t in inputs}
    aliases = bool(outputs) and all(t.untyped_storage()._cdata in storages for t in outputs)
    return aliases and not func._schema.is_mutable


def _mark() -> None:
    torch.empty(_MARK_BYTES, dtype=torch.uint8)


class _Mode(TorchDispatchMode):
    def __init__(self, marks: bool) -> None:
        super().__init__()
        self.marks = marks
        self.seen: list[Recorded] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(zip((a.name for a in func._schema.arguments), args, strict=False))
        named.update(kwargs or {})
        before = {name: to_arg(value) for name, value in named.items()}
        marks = self.marks and func.namespace == "aten"
        if marks:
            _mark()
        result = func(*args, **(kwargs or {}))
        if marks:
            _mark()
        inputs = [x for x in tree_leaves(named) if isinstance(x, torch.Tensor)]
        outputs = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        is_view = _is_view(func, inputs, outputs)
        if marks or not is_view:
            name = f"view {func}" if is_view else str(func)
            call = Call(name, before, tuple(spec(t) for t in outputs))
            self.seen.append(Recorded(call, named, tuple(outputs)))
        return result


def record(run: Callable[[], object]) -> list[Recorded]:
    """Every operator that ``run`` calls, pure views left out."""
    mode = _Mode(marks=False)
    with mode:
        run()
    return mode.seen


def _peak_beyond_end(events: list[int]) -> int:
    alive = peak = 0
    for nbytes in events:
        alive += nbytes
        peak = max(peak, alive)
    return peak - alive


def measure(run: Callable[[], object]) -> list[tuple[Call, int]]:
    """Every operator that ``run`` calls and its scratch by the profiler's allocation events.

    That is the most bytes it allocates at one time besides what it returns.
    """
    mode = _Mode(marks=True)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler, mode:
        run()
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    pieces: list[list[int]] = [[]]
    for event in sorted(events, key=lambda e: e.start_ns()):
        if event.nbytes() == _MARK_BYTES:
            pieces.append([])
        elif event.nbytes() != -_MARK_BYTES:
            pieces[-1].append(event.nbytes())
    calls = [r.call for r in mode.seen if r.call.op.startswith(("aten.", "view "))]
    within = pieces[1::2]
    assert len(within) == len(calls), "an operator is missing in the profile"
    measured = zip(calls, (_peak_beyond_end(piece) for piece in within), strict=True)
    return [(call, scratch) for call, scratch in measured if not call.op.startswith("view ")]


def cost_of(call: Call) -> Cost:
    """The cost its rule gives; a missing rule fails the test by name."""
    rule = find_rule(call.op)
    assert rule is not None, f"no rule for {call.op}"
    return rule(call)


def only(run: Callable[[], object], op: str) -> tuple[Recorded, Cost]:
    """The one call of ``op`` (name without overload) that ``run`` makes, and its cost."""
    found = [r for r in record(run) if r.call.op.rsplit(".", 1)[0] == op]
    assert len(found) == 1, [r.call.op for r in found]
    return found[0], cost_of(found[0].call)
