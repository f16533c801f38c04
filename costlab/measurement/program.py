"""A program as it is measured: the pass that derivation traces, run over and over. Needs torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from costlab.measurement.point import PointSpec
from costlab.sources import resolve
from costlab.sources.program import (
    Program,
    prepare,
    run,
    tensors_of,
    upstream_gradients,
)

# Inputs and weights are the same random numbers in every process of a point.
_SEED = 1997


@dataclass(frozen=True, slots=True)
class Runnable:
    """A prepared program and the upstream gradients its training pass starts from."""

    program: Program
    mode: str
    gradients: tuple[torch.Tensor, ...]

    def run(self) -> object:
        """One pass; returns the outputs, which live as long as the caller keeps them."""
        return run(self.program, self.mode, self.gradients)

    def reset(self) -> None:
        """Drop every gradient: a pass starts with none."""
        for tensor in self.program.held():
            tensor.grad = None

    def resident_bytes(self) -> int:
        """Bytes of the distinct storages that exist before a pass, upstream gradients included."""
        storages = {}
        for tensor in (*self.program.held(), *self.gradients):
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        return sum(storages.values())


def build_runnable(spec: PointSpec) -> Runnable:
    """Build and prepare what ``spec.target`` names: an architecture or a user's factory.

    Raises:
        CostLabError: what the registry, the sources or the module's checks say.
    """
    torch.manual_seed(_SEED)
    return prepare_runnable(resolve(spec.target).program(spec.mode, spec.sizes, spec.options), spec)


def prepare_runnable(program: Program, spec: PointSpec) -> Runnable:
    """Place ``program`` on the point's device, in its mode and dtype."""
    device = torch.device(spec.device)
    if program.module is not None:
        program.module.to(device)
    placed = replace(
        program,
        inputs=_to(device, program.inputs),
        state=None if program.state is None else _to(device, program.state),
    )
    prepared = prepare(placed, spec.mode, spec.dtype)
    gradients = upstream_gradients(prepared) if spec.mode == "train" else ()
    runnable = Runnable(prepared, spec.mode, gradients)
    runnable.reset()
    return runnable


def _to(device: torch.device, value: tuple[Any, ...]) -> tuple[Any, ...]:
    def move(leaf: Any) -> Any:
        return leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf

    moved: tuple[Any, ...] = pytree.tree_map(move, value)
    return moved


def is_sound(outputs: object) -> bool:
    """Whether every floating-point output is free of NaN (a wrong run is no measurement)."""
    return not any(
        bool(torch.isnan(tensor).any())
        for tensor in tensors_of(outputs)
        if tensor.is_floating_point()
    )
