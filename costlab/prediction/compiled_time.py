"""Classes of programs over many sizes: what ``timing.time_of`` gives, all their groups stacked.

Groups that the time model treats alike, of several programs if need be, become rows of one array,
and ``time_of_group`` is called once for all of them. The model itself is in
:mod:`costlab.prediction.timing` alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import as_expr
from costlab.formulas.evaluate import Evaluated
from costlab.formulas.identity import Same
from costlab.formulas.record import Group
from costlab.hardware.machine import Machine
from costlab.hardware.rates import MATRIX_KINDS, Rates
from costlab.hardware.stacked import Array, BandwidthBank, Rows
from costlab.prediction.compiled_class import CompiledClass
from costlab.prediction.shapes import rate_name
from costlab.prediction.timing import (
    ALIASES,
    FALLBACK,
    Run,
    Times,
    run_of,
    sizes_of,
    time_of_group,
    with_fixed,
)

_MANY = 1e18
# Below so many points a call of numpy costs more than what it computes.
_FEW = 512


def times_of(programs: Sequence[tuple[CompiledClass, Evaluated]], machine: Machine) -> list[Times]:
    """Times of several programs, each compiled for ``machine`` and evaluated at its own sizes.

    The times have the shape of the program's sizes, and no ``groups``.
    """
    found: dict[int, Times] = {}
    # Programs are padded to as many points as the longest, so those of like length go together.
    lengths: dict[int, list[int]] = {}
    for index, (_program, values) in enumerate(programs):
        points = values.table[0].size
        lengths.setdefault((max(points, _FEW) - 1).bit_length(), []).append(index)
    for members in lengths.values():
        batch = _batch(tuple(Same(programs[index][0]) for index in members), Same(machine))
        times = batch.times([programs[index][1] for index in members])
        found.update(zip(members, times, strict=True))
    return [found[index] for index in range(len(programs))]


@lru_cache(maxsize=64)
def _batch(programs: tuple[Same, ...], machine: Same) -> _Batch:
    return _Batch([program.item for program in programs], machine.item)


@lru_cache(maxsize=8)
def _bank(machine: Same) -> BandwidthBank:
    return BandwidthBank(machine.item.rates)


@dataclass(frozen=True, slots=True)
class _Row:
    """A group in a stack.

    ``sizes`` are rows of the joined table: calls, FLOP, bytes, launches; ``rate`` is a number of a
    lookup, ``own`` that of a bandwidth.
    """

    program: int
    group: Group
    sizes: tuple[int, int, int, int]
    rate: int | None
    own: int | None


class _Batch:
    """Groups of several programs on one machine in as few arrays as possible."""

    def __init__(self, programs: Sequence[CompiledClass], machine: Machine) -> None:
        self.programs, self.machine = programs, machine
        self.lookups: dict[tuple[str, tuple[int, ...]], int] = {}
        bank = _bank(Same(machine))
        alike: dict[tuple[bool, bool, bool], list[_Row]] = {}
        start = 0
        for number, program in enumerate(programs):
            groups = program.cost_class.groups
            for group, sizes in zip(groups, sizes_of(groups), strict=True):
                calls, flop, size, launches, *shape = (
                    start + program.place[as_expr(part)] for part in sizes
                )
                own = bank.number(group.op, ALIASES.get(group.kind, group.kind))
                name = rate_name(group)
                rated = machine.rates.flop_per_s(name, (1.0,) * len(shape)) is not None
                rate = None
                if rated:
                    rate = self.lookups.setdefault((name, tuple(shape)), len(self.lookups))
                row = _Row(number, group, (calls, flop, size, launches), rate, own)
                key = (group.kind in MATRIX_KINDS, rated, own is not None)
                alike.setdefault(key, []).append(row)
            start += len(program.place)
        self.stacks = [_Stack(rows, machine, bank, len(programs)) for rows in alike.values()]
        self.known = np.array([_rate_of_all(name, machine) for name, _shape in self.lookups])

    def times(self, values: Sequence[Evaluated]) -> list[Times]:
        """Times of the programs at sizes that each was evaluated at."""
        points = [value.table[0].size for value in values]
        longest = max(points)
        table = _Table(
            _padded([value.table for value in values], longest),
            np.concatenate([value.varies for value in values]),
        )
        runs = [
            run_of(program.cost_class, value, self.machine, program.mode)
            for program, value in zip(self.programs, values, strict=True)
        ]
        footprints = None
        if self.machine.weighs_footprint:
            whole = [
                np.broadcast_to(run.footprint, value.table.shape[1:])[None]
                for run, value in zip(runs, values, strict=True)
            ]
            footprints = _padded(whole, longest)
        looked_up = self._looked_up(table)
        sums = sum(stack.at(table, looked_up, footprints, runs) for stack in self.stacks)
        sums = np.broadcast_to(sums, (5, len(values), longest))
        found = []
        for number, (program, value) in enumerate(zip(self.programs, values, strict=True)):
            shape = value.table.shape[1:]
            compute, memory, launch, low, high = (
                part[: points[number]].reshape(shape) for part in sums[:, number]
            )
            calls = Times(compute, memory, launch, 0.0, low, high, ())
            found.append(with_fixed(calls, program.cost_class, value, self.machine, program.mode))
        return found

    def _looked_up(self, table: _Table) -> _LookedUp:
        """What the shapes of all lookups say; alike ones are looked up together."""
        if not np.isnan(self.known).any():
            return _LookedUp(self.known[:, None], None)
        alike: dict[tuple[str, tuple[bool, ...]], list[int]] = {}
        for (name, shape), number in self.lookups.items():
            pattern = tuple(bool(table.varies[row]) for row in shape)
            alike.setdefault((name, pattern), []).append(number)
        shapes = [shape for _name, shape in self.lookups]
        rates = np.empty((len(self.lookups), table.rows.shape[1]))
        unaligned = np.zeros_like(rates)
        for (name, pattern), numbers in alike.items():
            columns = np.array([shapes[number] for number in numbers]).reshape(len(numbers), -1).T
            dimensions = tuple(
                table.rows[rows] if moves else table.rows[rows, :1]
                for rows, moves in zip(columns, pattern, strict=True)
            )
            rates[numbers] = self.machine.rates.flop_per_s(name, dimensions)
            unaligned[numbers] = self.machine.rates.unaligned_elements(name, dimensions)
        return _LookedUp(rates, unaligned)


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """FLOP/s and unaligned elements of every lookup, [lookups, points or 1]."""

    rates: Array
    unaligned: Array | None

    def of(self, numbers: Sequence[int]) -> list[Array]:
        """What stands for the shape of rows with these lookups."""
        if not numbers:
            return []
        found = [self.rates[numbers]]
        return found if self.unaligned is None else [*found, self.unaligned[numbers]]


def _rate_of_all(name: str, machine: Machine) -> float:
    """FLOP/s that do not depend on the shape of a call; NaN where they do."""
    rates = machine.rates
    if rates.has_shapes(name) or rates.has_shapes(name.partition("_")[0]):
        return np.nan
    found = rates.flop_per_s(name, ())
    return np.nan if found is None else float(found)


@dataclass(frozen=True, slots=True)
class _Table:
    """Values of many expressions, [rows, points], and which of them vary from point to point."""

    rows: Array
    varies: NDArray[np.bool_]

    def of(self, rows: Rows) -> Array:
        """Some rows, [rows, points]; one point stands for all where none of them varies."""
        return self.rows[rows] if self.varies[rows].any() else self.rows[rows, :1]


@dataclass(frozen=True, slots=True)
class _StackedRun(Run):
    """A run of many calls; ``launches`` are (rows, a group that is launched alike, its run)."""

    launches: tuple[tuple[Rows, Group, Run], ...]

    def launch_s(self, group: Group, calls: Any) -> Any:
        del group
        found = np.empty(calls.shape)
        for rows, own, run in self.launches:
            found[rows] = run.launch_s(own, calls[rows])
        return found


@dataclass(frozen=True, slots=True)
class _StackedRates:
    """The rates of a stack, row by row."""

    own: _Bandwidths
    fallback: _Bandwidths
    footprints: Array | None
    machine: Rates

    def flop_per_s(self, name: str, shape: tuple[Any, ...]) -> Any:
        """The rates, which were looked up before: they stand where a shape would."""
        del name
        return shape[0] if shape else None

    def unaligned_elements(self, name: str, shape: tuple[Any, ...]) -> Any:
        """The same for the elements."""
        del name
        return shape[1] if len(shape) > 1 else 0.0

    def unaligned_s(self, level_bytes: Any) -> Any:
        return self.machine.unaligned_s(level_bytes)

    def has_shapes(self, kind: str) -> bool:
        del kind
        return False

    def bytes_per_s(self, op: str, kind: str, size_bytes: Any) -> Any:
        table = self.fallback if (op, kind) == ("", FALLBACK) else self.own
        return table.at(size_bytes, self.footprints)


class _Bandwidths:
    """Which bandwidth each row of a stack has; what has equal sizes is looked up once."""

    def __init__(
        self, bank: BandwidthBank, numbers: Sequence[int | None], rows: Sequence[_Row]
    ) -> None:
        self._bank = bank
        self._known = None not in numbers
        self._by_size = _distinct(
            [(number, row.sizes[2]) for number, row in zip(numbers, rows, strict=True)]
        )
        self._by_program = _distinct(
            [(number, row.program) for number, row in zip(numbers, rows, strict=True)]
        )
        self._numbers = np.array([-1 if number is None else number for number in numbers])

    def at(self, sizes: Array, footprints: Array | None) -> Array | None:
        """B/s at sizes [rows, points]; those of a whole program are often its footprint."""
        if not self._known:
            return None
        at_footprint = footprints is not None and np.array_equal(sizes, footprints)
        first, place = self._by_program if at_footprint else self._by_size
        return np.asarray(self._bank.at(self._numbers[first], sizes[first])[place])


class _Stack:
    """Groups that differ in nothing but sizes, rates, launches and intervals."""

    def __init__(
        self, rows: Sequence[_Row], machine: Machine, bank: BandwidthBank, programs: int
    ) -> None:
        self.rows, self.machine = rows, machine
        self.columns = np.array([row.sizes for row in rows]).T
        self.rates = [row.rate for row in rows if row.rate is not None]
        self.program = np.array([row.program for row in rows])
        self.own = _Bandwidths(bank, [row.own for row in rows], rows)
        self.fallback = _Bandwidths(bank, [bank.number("", FALLBACK)] * len(rows), rows)
        self.launches: tuple[tuple[Rows, Group, Run], ...] | None = None
        spread = np.array([machine.spread_of(row.group.kind) for row in rows])
        self.best, self.worst = spread.T[:, :, None]
        self.alike = bool((spread == spread[0]).all())
        # Rows of one program stand together.
        ends = np.searchsorted(self.program, np.arange(programs + 1))
        self.slices = [slice(*pair) for pair in pairwise(ends.tolist())]

    def at(
        self, table: _Table, looked_up: _LookedUp, footprints: Array | None, runs: Sequence[Run]
    ) -> Array:
        """Sums [5, programs, points or 1].

        They are seconds of arithmetic, traffic and launches, and both ends of the interval.
        """
        calls, flop, size, launches = (table.of(rows) for rows in self.columns)
        own = None if footprints is None else footprints[self.program]
        stacked = _StackedRates(self.own, self.fallback, own, self.machine.rates)
        run = _StackedRun(
            machine=replace(self.machine, rates=stacked),
            mode=runs[0].mode,
            fused=False,
            footprint=0.0 if own is None else own,
            launches=self._launches(runs),
        )
        shape = looked_up.of(self.rates)
        part = time_of_group(self.rows[0].group, [calls, flop, size, launches, *shape], run)
        arithmetic = part.work_s * (part.compute_s >= part.memory_s)
        sums = [
            self._by_program(values)
            for values in (arithmetic, part.work_s - arithmetic, part.launch_s)
        ]
        if self.alike:
            seconds = sums[0] + sums[1] + sums[2]
            sums += [seconds * self.best[0], seconds * self.worst[0]]
        else:
            every = part.work_s + part.launch_s
            sums += [self._by_program(every * self.best), self._by_program(every * self.worst)]
        return np.stack(np.broadcast_arrays(*sums))

    def _by_program(self, seconds: Array) -> Array:
        """Sums of the rows of each program."""
        # No product of matrices: its threads wait for each other where processors are busy.
        return np.stack([seconds[rows].sum(axis=0) for rows in self.slices])

    def _launches(self, runs: Sequence[Run]) -> tuple[tuple[Rows, Group, Run], ...]:
        if self.launches is None:
            alike: dict[tuple[float, float], list[int]] = {}
            for index, row in enumerate(self.rows):
                run = runs[row.program]
                once, often = (float(run.launch_s(row.group, calls)) for calls in (1, _MANY))
                alike.setdefault((once, often), []).append(index)
            self.launches = tuple(
                (np.array(rows), self.rows[rows[0]].group, runs[self.rows[rows[0]].program])
                for rows in alike.values()
            )
        return self.launches


def _distinct(keys: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """The first row of each different key, and for every row which of them it has."""
    known: dict[Hashable, int] = {}
    places = [known.setdefault(key, len(known)) for key in keys]
    return [places.index(place) for place in range(len(known))], places


def _padded(tables: Sequence[Array], points: int) -> Array:
    """``tables`` [rows, ...] below each other as [all rows, points], last points repeated."""
    found = np.empty((sum(len(table) for table in tables), points))
    start = 0
    for table in tables:
        flat = table.reshape(len(table), -1)
        own = found[start : start + len(flat)]
        own[:, : flat.shape[1]] = flat
        own[:, flat.shape[1] :] = flat[:, -1:]
        start += len(flat)
    return found
