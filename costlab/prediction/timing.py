"""Time of a program on a machine: a sum over its operator classes.

``sum(calls * max(flop / rate, bytes / bandwidth)) + launches * t_launch + steps * t_step``, where
rate and bandwidth depend on the operator class and its shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np

from costlab.algebra import Size
from costlab.formulas.evaluate import evaluate, evaluate_together
from costlab.formulas.record import CostClass, Group
from costlab.hardware.machine import DATASHEET, Machine
from costlab.prediction.shapes import rate_name, rate_shape

LIMITERS = ("compute", "memory", "launch", "latency")
_ALIASES = {"pointwise": "elementwise"}
_FALLBACK = "copy"


@dataclass(frozen=True, slots=True)
class GroupTime:
    """Seconds of one operator class: arithmetic and traffic alone, the work, and its launches."""

    group: Group
    calls: Any
    compute_s: Any
    memory_s: Any
    work_s: Any
    launch_s: Any


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds by what limits them; floats, or arrays over many sizes.

    ``high_s`` is infinite where only a bound is known.
    """

    compute_s: Any
    memory_s: Any
    launch_s: Any
    latency_s: Any
    low_s: Any
    high_s: Any
    groups: tuple[GroupTime, ...]

    @property
    def total_s(self) -> Any:
        return self.compute_s + self.memory_s + self.launch_s + self.latency_s

    @property
    def work_s(self) -> Any:
        """Arithmetic and traffic without launches and waiting: what more hands can share."""
        return self.compute_s + self.memory_s

    def limiter(self) -> str:
        """What has the largest share (for scalar times)."""
        shares = (self.compute_s, self.memory_s, self.launch_s, self.latency_s)
        return LIMITERS[int(np.argmax([float(share) for share in shares]))]


def time_of(cost_class: CostClass, values: Mapping[str, Any], machine: Machine, mode: str) -> Times:
    """Evaluate the time of ``cost_class`` on ``machine``.

    Args:
        cost_class: formulas and operator classes that hold at ``values``.
        values: complete sizes, floats or arrays that broadcast.
        machine: where it runs.
        mode: "forward", "train", ... (a recorded forward costs more per call than a plain one).
    """
    compute: Any = 0.0
    memory: Any = 0.0
    launch: Any = 0.0
    low: Any = 0.0
    high: Any = 0.0
    parts: list[GroupTime] = []
    sizes = _sizes(cost_class.groups)
    found = iter(evaluate_together(tuple(chain.from_iterable(sizes)), values))
    for group, own in zip(cost_class.groups, sizes, strict=True):
        part = _time_of_group(group, list(islice(found, len(own))), machine, mode)
        arithmetic_decides = part.compute_s >= part.memory_s
        compute = compute + np.where(arithmetic_decides, part.work_s, 0.0)
        memory = memory + np.where(arithmetic_decides, 0.0, part.work_s)
        launch = launch + part.launch_s
        best, worst = machine.spread_of(group.kind)
        low = low + (part.work_s + part.launch_s) * best
        high = high + (part.work_s + part.launch_s) * worst
        parts.append(part)
    steps = cost_class.cost.get("steps")
    count = evaluate(steps.expr, values) if steps is not None and steps.expr is not None else 0.0
    latency = count * machine.step_s
    best, worst = machine.spread_of("")
    high = np.inf if machine.basis == DATASHEET else high + latency * worst
    return Times(compute, memory, launch, latency, low + latency * best, high, tuple(parts))


def unrated_kinds(cost_class: CostClass, machine: Machine) -> tuple[str, ...]:
    """Kinds that the machine has no rate for, which are taken to cost what a copy costs."""
    kinds = dict.fromkeys(group.kind for group in cost_class.groups)
    return tuple(
        kind
        for kind in kinds
        if machine.rates.flop_per_s(kind, ()) is None
        and machine.rates.bytes_per_s("", _ALIASES.get(kind, kind), 1.0) is None
        and not machine.has_shapes(kind)
    )


@lru_cache(maxsize=512)
def _sizes(groups: tuple[Group, ...]) -> tuple[tuple[Size, ...], ...]:
    """What the time of each group depends on, in the order :func:`_time_of_group` takes it."""
    return tuple((g.calls, g.flop, g.bytes, g.launches, *rate_shape(g)) for g in groups)


def _time_of_group(group: Group, sizes: Sequence[Any], machine: Machine, mode: str) -> GroupTime:
    calls, flop, size, launches, *shape = sizes
    rate = machine.rates.flop_per_s(rate_name(group), tuple(shape))
    kind = _ALIASES.get(group.kind, group.kind)
    bandwidth = machine.rates.bytes_per_s(group.op, kind, size)
    if bandwidth is None and rate is None:
        bandwidth = machine.rates.bytes_per_s("", _FALLBACK, size)
    compute = calls * flop / rate if rate is not None else calls * 0.0
    memory = calls * size / bandwidth if bandwidth is not None else calls * 0.0
    return GroupTime(
        group=group,
        calls=calls,
        compute_s=compute,
        memory_s=memory,
        work_s=np.maximum(compute, memory),
        launch_s=calls * launches * machine.launch(group.phase, mode),
    )
