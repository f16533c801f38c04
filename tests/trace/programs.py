"""Small programs with known operators, and a way to trace any call."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from costlab.sources.program import Program, prepare, program_from
from costlab.trace.records import OpRecord, Trace
from costlab.trace.run import trace


def program(
    call: Callable[..., object], *inputs: Tensor, mode: str = "forward", dtype: str = "float32"
) -> Program:
    return prepare(program_from((call, inputs), mode), mode, dtype)


def traced(call: Callable[..., object], *inputs: Tensor, mode: str = "forward") -> Trace:
    """What ``call(*inputs)`` does in ``mode``, with lines; collections wait (see conftest)."""
    gc.disable()
    return trace(program(call, *inputs, mode=mode), mode, {}, locate=True)


def names(ops: list[OpRecord]) -> list[str]:
    """Operators without namespace and overload."""
    return [record.op.split(".")[1] for record in ops]


def by_module(found: Trace, phase: str) -> dict[str, list[str]]:
    """Operators of a phase by the module they belong to, in order."""
    rows: dict[str, list[str]] = {}
    for record in found.ops:
        if record.phase == phase:
            rows.setdefault(record.module, []).extend(names([record]))
    return rows


class Scale(torch.autograd.Function):
    """``x * exp(x)`` with its own backward pass, written the other way round."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        e = x.exp()
        ctx.save_for_backward(x, e)
        return x * e

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        x, e = ctx.saved_tensors
        found: Tensor = grads[0] * (e + x * e)
        return found


class Custom(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = Scale.apply(x)
        return y


class Writes(nn.Module):
    """Writes each position of a buffer: autograd inserts nodes that no operator made."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.zeros_like(x)
        for t in range(x.shape[1]):
            y[:, t] = x[:, t].exp()
        y[:, 0].mul_(x[:, 0])
        return y


class WritesView(nn.Module):
    """Multiplies a part of a result by another: only a node that Python cannot see keeps both."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.first(x)
        y[..., : x.shape[-1]].mul_(self.second(x))
        return y


class Plain(nn.Module):
    """Tensors that are neither parameters nor buffers, used last of all."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.layer = nn.Linear(d, d)
        self.scales, self.shift = [torch.ones(d)], torch.zeros(1, 7, 1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(self.layer(x))
        return y * self.scales[0] + self.shift


class Remembers(nn.Module):
    """Keeps an intermediate result that its backward pass does not need."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.layer = nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        self.seen = self.layer(x)
        y: Tensor = self.seen * 2
        return y


class Picks(nn.Module):
    """Gathers, indexes and takes maxima: gradients are scattered into zeros."""

    def forward(self, x: Tensor) -> Tensor:
        first = torch.zeros(x.shape[0], 2, x.shape[2], dtype=torch.long)
        gathered = x.gather(1, first).sum(1, keepdim=True)
        return x[:, [1, 2, 0]] * gathered + x.max(dim=-1, keepdim=True).values[:, :3]


class Recomputed(nn.Module):
    """Two layers, the second recomputed in the backward pass."""

    def __init__(self, d: int, reentrant: bool) -> None:
        super().__init__()
        self.first = nn.Linear(d, d)
        self.second = nn.Sequential(nn.Linear(d, 3 * d), nn.GELU(), nn.Linear(3 * d, d))
        self.reentrant = reentrant
        self.calls = 0

    def _again(self, x: Tensor) -> Tensor:
        self.calls += 1
        y: Tensor = self.second(x)
        return y

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = checkpoint(
            self._again, self.first(x), use_reentrant=self.reentrant, preserve_rng_state=False
        )
        return y


class Block(nn.Module):
    """Pre-norm attention with scores in memory, and a feed-forward part."""

    def __init__(self, d: int, f: int) -> None:
        super().__init__()
        self.norm, self.q, self.k, self.v = nn.LayerNorm(d), *(nn.Linear(d, d) for _ in range(3))
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, f), nn.GELU(), nn.Linear(f, d))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        scores = self.q(y) @ self.k(y).mT
        x = x + F.softmax(scores / x.shape[-1] ** 0.5, -1) @ self.v(y)
        out: Tensor = x + self.mlp(x)
        return out
