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


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call, the tensors that went in and came out, and the scratch the profiler saw, if asked."""

    call: Call
    inputs: dict[str, Any]
    outputs: tuple[torch.Tensor, ...]
    scratch: int | None = None


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


class _Mode(TorchDispatchMode):
    def __init__(self, measure: bool) -> None:
        super().__init__()
        self.measure = measure
        self.seen: list[Recorded] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(zip((a.name for a in func._schema.arguments), args, strict=False))
        named.update(kwargs or {})
        before = {name: to_arg(value) for name, value in named.items()}
        scratch = None
        if self.measure and func.namespace == "aten":
            result, scratch = measured_scratch(lambda: func(*args, **(kwargs or {})))
        else:
            result = func(*args, **(kwargs or {}))
        inputs = [x for x in tree_leaves(named) if isinstance(x, torch.Tensor)]
        outputs = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        if not _is_view(func, inputs, outputs):
            call = Call(str(func), before, tuple(spec(t) for t in outputs))
            self.seen.append(Recorded(call, named, tuple(outputs), scratch))
        return result


def record(run: Callable[[], object], measure: bool = False) -> list[Recorded]:
    """Every operator that ``run`` calls, pure views left out; ``measure``: with its scratch."""
    mode = _Mode(measure)
    with mode:
        run()
    return mode.seen


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


def measured_scratch(run: Callable[[], Any]) -> tuple[Any, int]:
    """What ``run`` returns, and the most bytes it allocates at one time besides that.

    Counted over the allocation events of torch's profiler.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        result = run()
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    alive = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        alive += event.nbytes()
        peak = max(peak, alive)
    return result, peak - alive
