"""What operators allocate and free by themselves, from the profiler's allocator events."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._pytree import tree_leaves

from costlab.algebra import Size, as_expr
from costlab.graph import Call
from tests.rules.recorder import spec, to_arg

_SEPARATOR_BYTES = 1_234_567  # a size that no operator under test allocates


@dataclass(frozen=True, slots=True)
class Run:
    """One call of an operator's overload to be measured."""

    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    threads: int = 1
    grad: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """The call as a rule sees it, its result, and the bytes above what it leaves alive."""

    run: Run
    call: Call
    result: Any
    scratch_bytes: int


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run torch's operators with ``count`` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _execute(run: Run) -> Any:
    torch.set_num_threads(run.threads)
    with torch.set_grad_enabled(run.grad):
        return run.op(*run.args, **run.kwargs)


def _split(changes: Sequence[int]) -> list[list[int]]:
    """Allocator events of each run: each ends with the allocation of the separator."""
    runs: list[list[int]] = [[]]
    for change in changes:
        if change == _SEPARATOR_BYTES:
            runs.append([])
        elif change != -_SEPARATOR_BYTES:
            runs[-1].append(change)
    return runs[:-1]


def _peak_above_end(changes: Sequence[int]) -> int:
    level = peak = 0
    for change in changes:
        level += change
        peak = max(peak, level)
    return peak - level


def _call_of(run: Run, result: Any) -> Call:
    names = (a.name for a in run.op._schema.arguments)
    named = dict(zip(names, run.args, strict=False)) | run.kwargs
    outs = tuple(spec(t) for t in tree_leaves(result) if isinstance(t, torch.Tensor))
    return Call(str(run.op), {name: to_arg(value) for name, value in named.items()}, outs)


def measure(runs: Sequence[Run]) -> list[Measured]:
    """Run each once under one profiler session (starting one is slow)."""
    results = []
    gc.collect()
    gc.disable()
    try:
        with threads(1), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as session:
            for run in runs:
                results.append(_execute(run))
                torch.empty(_SEPARATOR_BYTES, dtype=torch.uint8)
    finally:
        gc.enable()
    assert session.profiler is not None
    kineto = session.profiler.kineto_results
    assert kineto is not None
    changes = _split([e.nbytes() for e in kineto.events() if e.name() == "[memory]"])
    return [
        Measured(run, _call_of(run, result), result, _peak_above_end(change))
        for run, result, change in zip(runs, results, changes, strict=True)
    ]


def bytes_with(size: Size, count: int) -> int:
    """Value of a scratch formula with ``count`` threads."""
    value = as_expr(size).evaluate({"threads": count})
    assert isinstance(value, int)
    return value
