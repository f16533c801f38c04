"""Time of a program on a machine: a sum over its operator classes.

``sum(calls * max(flop / rate, bytes / bandwidth)) + launches * t_launch + steps * t_step``, where
rate and bandwidth depend on the operator class and its shape, bandwidth also on the cache level:
of its bytes a call finds a measured share only where the bytes of the whole program lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from costlab.algebra import Size
from costlab.formulas.evaluate import evaluate, evaluate_floats, evaluate_together
from costlab.formulas.identity import cached_by_identity
from costlab.formulas.record import CostClass, Group
from costlab.hardware.machine import DATASHEET, Machine
from costlab.hardware.rates import MATRIX_KINDS
from costlab.prediction.shapes import rate_name, rate_shape

LIMITERS = ("compute", "memory", "launch", "latency")
ALIASES = {"pointwise": "elementwise"}
FALLBACK = "copy"
# A class that runs this often is the body of a loop over steps.
_LOOP_CALLS = 16
# Activations of torch's recurrent layers, once per step and recurrent product; a cell that a module
# calls has two products per step. In a layer something is in place: they, or the sum before them.
_GATES = frozenset({"aten.tanh_.default", "aten.relu_.default"})
_GATES_OF_SUMS = frozenset({"aten.tanh.default", "aten.relu.default"})
_SUM = "aten.add_.Tensor"
# On a CPU addmm copies its bias into the result before it multiplies.
BIAS_COPY = "aten.addmm.default"


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
    sizes = sizes_of(cost_class.groups)
    found = iter(evaluate_floats(tuple(chain.from_iterable(sizes)), values))
    run = run_of(cost_class, values, machine, mode)
    for group, own in zip(cost_class.groups, sizes, strict=True):
        part = time_of_group(group, list(islice(found, len(own))), run)
        work, launched = part.work_s, part.launch_s
        arithmetic_decides = part.compute_s >= part.memory_s
        if np.ndim(work):
            compute = compute + np.where(arithmetic_decides, work, 0.0)
            memory = memory + np.where(arithmetic_decides, 0.0, work)
        else:
            # One point, as in a table that is read off: numbers add up faster than arrays do.
            work, launched = float(work), float(launched)
            if arithmetic_decides:
                compute = compute + work
            else:
                memory = memory + work
        launch = launch + launched
        best, worst = machine.spread_of(group.kind)
        low = low + (work + launched) * best
        high = high + (work + launched) * worst
        parts.append(part)
    whole = Times(compute, memory, launch, 0.0, low, high, tuple(parts))
    return with_fixed(whole, cost_class, values, machine, mode)


def run_of(cost_class: CostClass, values: Mapping[str, Any], machine: Machine, mode: str) -> Run:
    """What all calls of a pass share."""
    return Run(
        machine,
        mode,
        fused=runs_fused(cost_class.groups),
        footprint=_footprint_bytes(cost_class, values) if machine.weighs_footprint else 0.0,
    )


def _footprint_bytes(cost_class: CostClass, values: Mapping[str, Any]) -> Any:
    """Bytes alive at the peak, parameters and inputs included; 0 where no formula says."""
    peak = cost_class.cost.get("peak_bytes")
    return 0.0 if peak is None or peak.expr is None else evaluate(peak.expr, values)


def with_fixed(
    calls: Times, cost_class: CostClass, values: Mapping[str, Any], machine: Machine, mode: str
) -> Times:
    """The times of all calls, and what a pass costs beside them."""
    passes_s = passes_of(cost_class, values, machine, mode)
    best, worst = machine.spread_of("")
    launch = calls.launch_s + passes_s
    low, high = calls.low_s + passes_s * best, calls.high_s + passes_s * worst
    steps = cost_class.cost.get("steps")
    count = evaluate(steps.expr, values) if steps is not None and steps.expr is not None else 0.0
    latency = count * machine.step_s
    best, worst = machine.spread_of("")
    high = np.inf if machine.basis == DATASHEET else high + latency * worst
    return replace(
        calls,
        launch_s=launch,
        latency_s=latency,
        low_s=low + latency * best,
        high_s=high,
    )


def passes_of(cost_class: CostClass, values: Mapping[str, Any], machine: Machine, mode: str) -> Any:
    """Seconds of a Python loop's own work: the calls of modules and what stands around them."""
    total: Any = 0.0
    if "pass_forward" not in machine.launch_s or runs_fused(cost_class.groups):
        return total
    for phase, calls in calls_by_phase(cost_class.groups).items():
        fewest: Any = np.inf
        for count in evaluate_together(calls, values):
            fewest = np.minimum(fewest, np.where(np.asarray(count) >= _LOOP_CALLS, count, np.inf))
        passes = np.where(np.isfinite(fewest), fewest, 0.0)
        total = total + passes * machine.launch(phase, mode, "pass_")
    return total


@cached_by_identity(512)
def calls_by_phase(groups: tuple[Group, ...]) -> Mapping[str, tuple[Size, ...]]:
    """How often the classes of each phase run, every number once."""
    found: dict[str, dict[Size, None]] = {}
    for group in groups:
        found.setdefault(group.phase, {})[group.calls] = None
    return {phase: tuple(calls) for phase, calls in found.items()}


@cached_by_identity(512)
def runs_fused(groups: tuple[Group, ...]) -> bool:
    """Whether a recurrent layer of torch's C++ runs the steps."""
    sums = {group.calls for group in groups if group.op == _SUM}
    gates = {
        group.calls
        for group in groups
        if group.op in _GATES or (group.op in _GATES_OF_SUMS and group.calls in sums)
    }
    return any(group.op == BIAS_COPY and group.calls in gates for group in groups)


@dataclass(frozen=True, slots=True)
class Run:
    """What the calls of one pass share."""

    machine: Machine
    mode: str
    fused: bool
    footprint: Any

    def launch_s(self, group: Group, calls: Any) -> Any:
        """Seconds that one launch costs; ``calls`` tells a loop over steps."""
        within = self.machine.launch(group.phase, self.mode, "fused_")
        copies = group.op == BIAS_COPY and "product_forward" in self.machine.launch_s
        extra = self.machine.launch(group.phase, self.mode, "product_") if copies else 0.0
        if self.fused:
            return within + extra
        single = self.machine.launch(group.phase, self.mode)
        loop = self.machine.launch(group.phase, self.mode, "loop_")
        chosen = single if loop == single else np.where(calls >= _LOOP_CALLS, loop, single)
        return chosen + extra

    def waiting_s(self, size: Any) -> Any:
        """Seconds that a call waits for ``size`` bytes further out than where it alone finds them.

        The rate by shape holds for operands that the call itself brought into the caches.
        """
        rates = self.machine.rates
        alone: Any = rates.bytes_per_s("", FALLBACK, size)
        level: Any = rates.bytes_per_s("", FALLBACK, np.maximum(size, self.footprint))
        if alone is None:
            return 0.0
        return self.machine.cold_share * size * np.maximum(1 / level - 1 / alone, 0.0)

    def unaligned_s(self, elements: Any, size: Any, calls: Any) -> Any:
        """Seconds that a call of ``size`` bytes takes longer that writes to unaligned rows.

        Calls that are alike take turns with the rest of the program: its part of the bytes lies
        between two uses of a result's memory.
        """
        if not np.any(elements):
            return 0.0
        level = np.maximum(size, self.footprint / np.maximum(calls, 1.0))
        return elements * self.machine.rates.unaligned_s(level)

    def seconds_per_byte(self, op: str, kind: str, size: Any) -> Any:
        """Seconds per byte of a call that addresses ``size`` bytes; None without a bandwidth."""
        alone: Any = self.machine.rates.bytes_per_s(op, kind, size)
        if alone is None:
            return None
        share = self.machine.cold_share
        if not share:
            return 1 / alone
        level = np.maximum(size, self.footprint)
        below: Any = self.machine.rates.bytes_per_s(op, kind, level)
        return (1 - share) / alone + share * np.maximum(1 / below, 1 / alone)


def unrated_kinds(cost_class: CostClass, machine: Machine) -> tuple[str, ...]:
    """Kinds that the machine has no rate for, which are taken to cost what a copy costs."""
    kinds = dict.fromkeys(group.kind for group in cost_class.groups)
    return tuple(
        kind
        for kind in kinds
        if machine.rates.flop_per_s(kind, ()) is None
        and machine.rates.bytes_per_s("", ALIASES.get(kind, kind), 1.0) is None
        and not machine.has_shapes(kind)
    )


@cached_by_identity(512)
def sizes_of(groups: tuple[Group, ...]) -> tuple[tuple[Size, ...], ...]:
    """What the time of each group depends on, in the order :func:`time_of_group` takes it."""
    return tuple((g.calls, g.flop, g.bytes, g.launches, *rate_shape(g)) for g in groups)


def time_of_group(group: Group, sizes: Sequence[Any], run: Run) -> GroupTime:
    """Seconds of a group whose ``sizes_of`` are ``sizes``.

    Everything is element by element, so that groups of one kind can be stacked in arrays.
    """
    calls, flop, size, launches, *shape = sizes
    name = rate_name(group)
    rate = run.machine.rates.flop_per_s(name, tuple(shape))
    kind = ALIASES.get(group.kind, group.kind)
    per_byte = run.seconds_per_byte(group.op, kind, size)
    matrix = group.kind in MATRIX_KINDS
    if per_byte is None and (rate is None or matrix):
        # No product is quicker than a copy of its operands would be.
        per_byte = run.seconds_per_byte("", FALLBACK, size)
    compute: Any = 0.0
    if rate is not None:
        elements = run.machine.rates.unaligned_elements(name, tuple(shape))
        compute = flop / rate + run.unaligned_s(elements, size, calls)
    if matrix and run.machine.cold_share:
        compute = compute + run.waiting_s(size)
    memory: Any = 0.0 if per_byte is None else size * per_byte
    compute, memory = (calls * run.machine.in_program(alone_s) for alone_s in (compute, memory))
    return GroupTime(
        group=group,
        calls=calls,
        compute_s=compute,
        memory_s=memory,
        work_s=np.maximum(compute, memory),
        launch_s=calls * launches * run.launch_s(group, calls),
    )
