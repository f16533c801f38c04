"""Traces one pass of a program in a mode, with the tracker seeded by what exists before it."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from unittest import mock

import torch

from costlab.errors import ModuleError
from costlab.i18n import _
from costlab.sources.blame import blame
from costlab.sources.program import Program, floating_outputs, plain_tensors, tensors_of
from costlab.trace.products import ordinary_products
from costlab.trace.records import Held, Trace
from costlab.trace.tracker import Tracker, dtype_name

_SAVED_NAMES: dict[type, tuple[str, ...]] = {}


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keep the garbage collector from freeing storages at moments of its own choice.

    What exists already is frozen out of the collector, so that the collections before each
    trace are quick. Within another one it does nothing.
    """
    enabled = gc.isenabled()
    if not enabled and gc.get_freeze_count():
        yield
        return
    gc.collect(1)  # the oldest generation takes longest: torch and sympy are in it
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


def trace(
    program: Program,
    mode: str,
    sizes: Mapping[str, int],
    *,
    locate: bool = False,
    tracker: Tracker | None = None,
) -> Trace:
    """Run ``program`` once in ``mode`` and return what it did.

    Call within :func:`quiet_collector`. With ``locate`` every operator carries the user's line.
    ``tracker`` records in another way than an ordinary one.

    Raises:
        ModuleError: if the program raises; the message carries the original error.
    """
    gc.collect()
    gc.freeze()
    tracker = tracker or Tracker(locate=locate)
    held: list[Held] = []
    if program.module is not None:
        held += _seed(tracker, program.module.named_parameters(), "parameters")
        held += _seed(tracker, program.module.named_buffers(), "buffers")
        held += _seed(tracker, plain_tensors(program.module), "buffers")
    held += _seed(tracker, _numbered(program.inputs), "inputs")
    held += _seed(tracker, _numbered(program.state), "state")
    train = mode == "train"
    result: object = None
    try:
        with tracker.attribute(program.module):
            watched = _generator_states(tracker)
            with torch.set_grad_enabled(train), ordinary_products(), watched, tracker:
                result = program.call(*program.arguments)
            forward_ops = len(tracker.ops)
            if train:
                held += _backward(tracker, program, result)
    except ModuleError:
        raise
    except Exception as error:
        shown = " ".join(f"{k}={v}" for k, v in sizes.items())
        raise blame(error, _("the module failed"), given=shown) from error
    tracker.mark(tensors_of(result), result=True)
    tracker.close()
    left = _left(tracker, result) if mode in ("prefill", "decode") else ()
    return Trace(dict(sizes), tracker.ops, tracker.storages, tuple(held), left, forward_ops)


def _numbered(value: object) -> Iterator[tuple[str, torch.Tensor]]:
    for number, tensor in enumerate(tensors_of(value)):
        yield str(number), tensor


def _seed(tracker: Tracker, named: Iterable[tuple[str, torch.Tensor]], kind: str) -> list[Held]:
    """Register tensors; a storage that was seen already (tied weights) is not listed again."""
    held = []
    for name, tensor in named:
        known = len(tracker.storages)
        number = tracker.storage_id(tensor, kind)
        if number == known:
            held.append(Held(kind, name, tuple(tensor.shape), dtype_name(tensor.dtype), number))
    return held


def _left(tracker: Tracker, result: object) -> tuple[Held, ...]:
    """The state a pass returns: everything after the first item of its result."""
    if not isinstance(result, (tuple, list)) or len(result) < 2:
        return ()
    return tuple(
        Held("state", name, tuple(t.shape), dtype_name(t.dtype), tracker.storage_id(t))
        for name, t in _numbered(result[1:])
    )


def _backward(tracker: Tracker, program: Program, result: object) -> list[Held]:
    outputs = floating_outputs(result)
    if not outputs:
        raise ModuleError(
            "train needs an output with gradients",
            given="no floating-point output depends on a parameter or a floating-point input",
            advice="use --mode forward",
        )
    _mark_saved(tracker, outputs)
    _mark_kept(tracker, program, result)
    gradients = [torch.ones(o.shape, dtype=o.dtype, device=o.device) for o in outputs]
    held = _seed(tracker, ((f"gradient {i}", g) for i, g in enumerate(gradients)), "inputs")
    tracker.phase = "backward"
    with _generator_states(tracker), tracker:
        torch.autograd.backward(outputs, gradients)
    leaves = list(program.inputs)
    if program.module is not None:
        leaves.extend(program.module.parameters())
    tracker.mark((t.grad for t in leaves if t.grad is not None), kind="gradients")
    return held


@contextmanager
def _generator_states(tracker: Tracker) -> Iterator[None]:
    """Watch the generator's states that recomputation keeps, which no operator makes."""
    real = torch.get_rng_state

    def watched() -> torch.Tensor:
        state = real()
        tracker.storage_id(state)
        return state

    with mock.patch.object(torch, "get_rng_state", watched):
        yield


def _mark_saved(tracker: Tracker, outputs: tuple[torch.Tensor, ...]) -> None:
    """Mark every storage that autograd's graph keeps for the backward pass."""
    pending = [o.grad_fn for o in outputs if o.grad_fn is not None]
    seen: set[object] = set(pending)
    while pending:
        node = pending.pop()
        tracker.mark(_saved_tensors(node), saved=True)
        for parent, _index in node.next_functions:
            if parent is not None and parent not in seen:
                seen.add(parent)
                pending.append(parent)


def _mark_kept(tracker: Tracker, program: Program, result: object) -> None:
    """Mark what outlives the forward pass though neither the caller nor the module holds it.

    Autograd keeps operands of a write into a view where Python cannot see them, and a function
    may keep tensors outside of what it saves.
    """
    tracker.mark(tensors_of(result), result=True)
    caches = plain_tensors(program.module) if program.module is not None else ()
    tracker.mark_alive(saved=True, but=[tensor for _path, tensor in caches])


def _saved_tensors(node: object) -> Iterator[torch.Tensor]:
    """What a node of autograd's graph keeps, unpacking nothing: a hook may recompute it."""
    kind = type(node)
    names = _SAVED_NAMES.get(kind)
    if names is None:
        names = tuple(n for n in dir(kind) if n.startswith("_raw_saved_"))
        _SAVED_NAMES[kind] = names
    for name in names:
        saved = getattr(node, name, None)
        for item in saved if isinstance(saved, tuple) else (saved,):
            yield from tensors_of(getattr(item, "data", None))
