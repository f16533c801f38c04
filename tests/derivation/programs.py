"""Factories to derive, counts of one real run to compare with, and derivations made once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

import costlab
from costlab.algebra import as_expr, total
from costlab.derivation.masks import carry_masks
from costlab.derivation.opaque import settle
from costlab.derivation.totals import COUNTED, Priced, concrete_call, price
from costlab.formulas.record import Derivation
from costlab.sources.program import Program, prepare, program_from
from costlab.trace.records import OpRecord, Trace
from costlab.trace.run import trace
from tests.reference import modules13

Made = tuple[nn.Module, tuple[Tensor, ...]]


class CellLoop(nn.Module):
    """A recurrence in Python that keeps every state and projects at each step."""

    def __init__(self, d: int, f: int) -> None:
        super().__init__()
        self.enter, self.step, self.leave = nn.Linear(d, f), nn.Linear(f, f), nn.Linear(f, d)

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], self.step.in_features)
        outputs = []
        for t in range(x.shape[1]):
            h = torch.tanh(self.enter(x[:, t]) + self.step(h))
            outputs.append(self.leave(h))
        return torch.stack(outputs, 1)


class Layer(nn.Module):
    def __init__(self, d: int, f: int) -> None:
        super().__init__()
        self.norm, self.wide, self.narrow = nn.LayerNorm(d), nn.Linear(d, f), nn.Linear(f, d)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.narrow(torch.relu(self.wide(self.norm(x))))
        return x + y


class Stack(nn.Module):
    def __init__(self, d: int, f: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(d, f) for _ in range(layers))
        self.norm = nn.LayerNorm(d)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        y: Tensor = self.norm(x)
        return y


def cell_loop(*, b: int, n: int, d: int, f: int) -> Made:
    return CellLoop(d, f), (torch.randn(b, n, d),)


def stack(*, b: int, n: int, d: int, f: int, L: int) -> Made:
    return Stack(d, f, L), (torch.randn(b, n, d),)


FACTORIES: Mapping[str, Callable[..., Made]] = {
    "cell_loop": cell_loop,
    "stack": stack,
    **{name: getattr(modules13, name) for name in modules13.TRUTH},
}


@lru_cache(maxsize=64)
def derived(name: str, mode: str = "forward", *options: str, **sizes: int) -> Derivation:
    """The derivation of a factory of this file or, as "arch NAME", of an architecture; cached.

    Without its proof: see ``test_proof.py``.
    """
    target: Any = name.removeprefix("arch ") if name.startswith("arch ") else FACTORIES[name]
    flags = dict.fromkeys(options, True)
    return costlab.derive(target, mode=mode, sizes=sizes, options=flags, prove=False)


def traced(program: Program, mode: str) -> Trace:
    """One pass with masks carried and opaque blocks settled, as a derivation sees it."""
    gc.disable()
    found = trace(program, mode, {})
    carry_masks(found.ops)
    settle(found)
    return found


def run_of(make: Callable[..., object], mode: str, sizes: Mapping[str, int]) -> Trace:
    return traced(prepare(program_from(make(**sizes), mode), mode), mode)


def priced(ops: list[OpRecord]) -> list[Priced]:
    return [price(concrete_call(r, "cpu"), r.pairs_at) for r in ops]


def counts(found: Trace) -> dict[str, int]:
    """Totals and peak of one run, in integers, from its own operators and storages."""
    costs = priced(found.ops)
    totals = {name: _whole(total(p.quantity(name) for p in costs)) for name in COUNTED}
    scratch = [_whole(p.cost.scratch_bytes) if p.cost else 0 for p in costs]
    totals["peak_bytes"] = max(a + b for a, b in zip(found.live_bytes(), scratch, strict=True))
    totals["saved_bytes"] = sum(
        s.nbytes for s in found.storages if s.saved and s.kind not in ("parameters", "buffers")
    )
    return totals


def formulas_at(derivation: Derivation, sizes: Mapping[str, int]) -> dict[str, int]:
    """Every quantity of :func:`counts` by formula."""
    full = {**derivation.complete(sizes), "threads": 1}
    cost = derivation.select(full).cost
    found: dict[str, int] = {}
    for name in (*COUNTED, "peak_bytes", "saved_bytes"):
        expr = cost[name].expr
        assert expr is not None, name
        found[name] = _whole(expr.evaluate(full))
    return found


def _whole(value: object) -> int:
    number = as_expr(value).evaluate({"threads": 1})  # type: ignore[arg-type]
    assert isinstance(number, int)
    return number
