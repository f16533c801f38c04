"""Aligned traces to symbolic calls and storage families: fits every dimension of every operator."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from costlab.algebra import Expr, Size, as_expr, integer, product, simplest, symbol, total
from costlab.derivation.align import PEEL, Alignment, Slot, plain_module
from costlab.derivation.fit import Fitter
from costlab.derivation.lifetimes import PASS, Family, kind_of, storages_of
from costlab.errors import DerivationError
from costlab.graph import DTYPE_BYTES, Arg, Call, TensorSpec
from costlab.rules.base import opaque_size
from costlab.trace.records import Held, OpRecord, Trace

_LONGEST_TURN = 8  # tensors of a layer's state that may differ in shape


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a program: its sizes, and whether those of its masks could be fitted."""

    sizes: tuple[Expr, ...]
    masks_fitted: bool

    def narrowed(self, values: Mapping[str, Size], names: Collection[str]) -> Known:
        """With some sizes put in; what depends on others than ``names`` is left out."""
        sizes = dict.fromkeys(expr.subs(values) for expr in self.sizes)
        kept = (e for e in sizes if not e.is_constant and e.symbols() <= {*names, PASS})
        return replace(self, sizes=tuple(kept))


class Builder:
    """Symbolic calls, families and held sizes of aligned ``traces`` in internal variables."""

    def __init__(
        self,
        traces: Sequence[Trace],
        alignment: Alignment,
        variables: Sequence[str],
        trip: str | None,
        backend: str,
        like: Known | None = None,
    ) -> None:
        self.traces = traces
        self.alignment = alignment
        self.backend = backend
        self.masks_fitted = True
        self._like = like
        known = like.sizes if like is not None else ()
        self.variables = tuple(variables)
        self.composites = tuple(n for n in traces[0].sizes if n not in variables)
        self.trip: Expr | None = symbol(trip) if trip is not None else None
        self.trips = [t.sizes[trip] for t in traces] if trip is not None else None
        sizes = [dict(t.sizes) for t in traces]
        self._opaque: dict[int, TensorSpec] = {}  # by storage in the first trace
        self._steps: dict[Expr, None] = {}  # strides of contiguous tensors, in order
        self._literal = Fitter(sizes, variables, known)
        self._loops: list[Fitter] = []
        for number in range(len(alignment.loops)):
            slot = next(s for s in alignment.slots if s.loop == number)
            points = [
                {**size, PASS: PEEL + k}
                for size, at in zip(sizes, slot.at, strict=True)
                for k in range(len(at))
            ]
            self._loops.append(Fitter(points, [*variables, PASS], known))

    def known(self) -> Known:
        """What a program much like this one may take over."""
        fitters = (self._literal, *self._loops)
        return Known(
            tuple(dict.fromkeys(e for fitter in fitters for e in fitter.found())),
            self.masks_fitted,
        )

    def fit_totals(self, values: Sequence[int]) -> Size | None:
        """A formula for one number per trace."""
        return self._literal.fit(values)

    def _fit(
        self, slot: Slot, values: Sequence[Sequence[int]], what: str, record: OpRecord
    ) -> Size:
        """A formula for one number per trace and pass."""
        found: Size | None
        if all(len(set(row)) == 1 for row in values):
            found = self._literal.fit([row[0] for row in values])
        else:
            found = self._loops[slot.loop].fit([v for row in values for v in row])
        if found is None:
            raise DerivationError(
                f"{what} is no polynomial of the sizes",
                operator=record.op,
                where=record.where or record.module,
                advice=f"seen: {_seen(self.traces, values)}",
            )
        return simplest(found)

    # -- calls -------------------------------------------------------------------------------

    def calls(self) -> list[tuple[Call, OpRecord]]:
        """One symbolic call per slot, with the record it was first seen as."""
        return [self._call(slot) for slot in self.alignment.slots]

    def _records(self, slot: Slot) -> list[list[OpRecord]]:
        return [[t.ops[i] for i in at] for t, at in zip(self.traces, slot.at, strict=True)]

    def _call(self, slot: Slot) -> tuple[Call, OpRecord]:
        records = self._records(slot)
        first = records[0][0]

        args: dict[str, Arg] = {
            name: self._arg(slot, [[r.args.get(name) for r in row] for row in records], first)
            for name in first.args
        }
        bare = Call(first.op, args, (), self.backend)
        outs = tuple(self._out(slot, records, bare, i) for i in range(len(first.outs)))
        call = Call(first.op, args, outs, self.backend)
        if first.kept is not None:
            call = replace(call, kept=self._kept(slot, records, call, first.pairs_at))
        return call, first

    def _out(self, slot: Slot, records: list[list[OpRecord]], bare: Call, index: int) -> TensorSpec:
        first = records[0][0]
        size = opaque_size(bare, index)
        if size is not None:
            out = first.outs[index]
            self._literal.learn(size)
            self._opaque[out.storage] = TensorSpec((simplest(size),), (1,), out.dtype)
            return self._opaque[out.storage]
        return self._tensor(slot, [[r.outs[index] for r in row] for row in records], first)

    def _kept(
        self, slot: Slot, records: list[list[OpRecord]], call: Call, pairs_at: int | None
    ) -> Size | None:
        """How many pairs a mask keeps: the matrix's leading dimensions times a small polynomial."""
        table = [[r.kept for r in row] for row in records]
        if any(v is None for row in table for v in row):
            return None
        if any(len(set(row)) > 1 for row in table):
            self.masks_fitted = False
            return None
        values = [row[0] or 0 for row in table]
        if pairs_at is None:
            leading = call.tensor("query").shape[:2]
        else:
            matrix = call.outs[0] if pairs_at < 0 else list(call.tensors())[pairs_at]
            leading = matrix.shape[:-2]
        names = list(dict.fromkeys([*self.variables, *self.composites]))
        # Where counts depend on the data of a program like this one, only known ones can fit.
        searched = self._like is None or self._like.masks_fitted
        for count in range(len(leading), -1, -1):
            for chosen in itertools.combinations(leading, count):
                factor = as_expr(product(chosen))
                scales = [int(factor.evaluate(t.sizes)) for t in self.traces]
                if any(v % s != 0 for v, s in zip(values, scales, strict=True)):
                    continue
                rest = [v // s for v, s in zip(values, scales, strict=True)]
                found = self._literal.fit(rest) if searched else self._literal.recall(rest)
                if found is None and searched:
                    found = self._literal.fit_dense(rest, names)
                if found is not None:
                    self._literal.learn(found)
                    return simplest(factor * found)
        self.masks_fitted = False
        return None

    def _arg(self, slot: Slot, table: list[list[Any]], record: OpRecord) -> Arg:
        first = table[0][0]
        if isinstance(first, TensorSpec):
            return self._tensor(slot, table, record)
        if isinstance(first, tuple):
            return self._sequence(slot, table, record)
        if isinstance(first, bool) or not isinstance(first, int):
            return first
        if all(value == first for row in table for value in row):
            return first
        try:
            return self._fit(slot, table, "an argument", record)
        except DerivationError:
            # No rule reads an integer argument that shapes do not determine (seeds, offsets).
            return None

    def _sequence(self, slot: Slot, table: list[list[Any]], record: OpRecord) -> Arg:
        """A list argument: item by item; one that grows with a size as one item of fitted count."""
        lengths = [[len(v) for v in row] for row in table]
        if len({n for row in lengths for n in row}) == 1:
            return tuple(
                self._arg(slot, [[v[i] for v in row] for row in table], record)
                for i in range(lengths[0][0])
            )
        if not all(isinstance(item, TensorSpec) for row in table for v in row for item in v):
            return None
        # cat and stack over the passes of a loop: equal tensors are one tensor with a leading
        # axis of their number, which addresses the same elements.
        rows = [[self._stacked(v, record) for v in row] for row in table]
        return (self._tensor(slot, rows, record),)

    def _stacked(self, items: tuple[TensorSpec, ...], record: OpRecord) -> TensorSpec:
        if len({item.shape for item in items}) == 1:
            shape: tuple[Size, ...] = (len(items), *items[0].shape)
        else:
            shape = (sum(integer(item.numel) for item in items),)
        return TensorSpec(shape, (), items[0].dtype, items[0].storage)

    def _tensor(self, slot: Slot, table: list[list[TensorSpec]], record: OpRecord) -> TensorSpec:
        first = table[0][0]
        ranks = {len(s.shape) for row in table for s in row if s is not None}
        if len(ranks) != 1 or any(s is None for row in table for s in row):
            raise DerivationError(
                "an operand changes its rank between sizes", operator=record.op, where=record.where
            )
        if first.storage in self._opaque:
            # Rounded to pages, small blocks are all alike: no fit would see how they grow.
            return self._opaque[first.storage]
        shape = tuple(
            self._fit(slot, [[s.shape[i] for s in row] for row in table], "a dimension", record)  # type: ignore[misc]
            for i in range(len(first.shape))
        )
        return TensorSpec(shape, self._strides(slot, table, shape, record), first.dtype)

    def _strides(
        self, slot: Slot, table: list[list[TensorSpec]], shape: tuple[Size, ...], record: OpRecord
    ) -> tuple[Size, ...]:
        """Strides: those of a contiguous tensor where they are, else fitted.

        A view keeps strides of what it is a view of: a product of sums such as (n + 1) (p + r),
        which has too many terms for a search, is found among those of earlier tensors.
        """
        fitter = self._loops[slot.loop] if slot.loop >= 0 else self._literal
        found: list[Size] = []
        step: Size = 1
        for i in range(len(shape) - 1, -1, -1):
            rows = [[s.stride[i] if s.stride else step for s in row] for row in table]
            contiguous = not table[0][0].stride  # a list of tensors taken as one
            flat: list[int] = [v for row in rows for v in row]  # type: ignore[misc]
            # Of a transposed view or a part of a row, an outer stride spans an inner dimension.
            spans = (simplest(s * n) for s, n in zip(found, reversed(shape), strict=False))
            known = (e for e in self._steps if len(e.terms) > 3)
            chosen = (s for s in (step, *spans, *known) if contiguous or fitter.matches(s, flat))
            stride = next(chosen, None)
            if stride is None:
                stride = self._fit(slot, rows, "a stride", record)  # type: ignore[arg-type]
            elif stride is step and isinstance(step, Expr):
                self._steps.setdefault(step)
            # A view of it may show no dimension that it is a product of.
            fitter.recognise(stride)
            found.append(stride)
            step = simplest(found[-1] * shape[i])
        return tuple(reversed(found))

    # -- storages ----------------------------------------------------------------------------

    def families(self, calls: Sequence[tuple[Call, OpRecord]]) -> list[Family]:
        """Every storage family with its symbolic size."""
        births = [storages_of(t) for t in self.traces]
        found: list[Family] = []
        for number, slot in enumerate(self.alignment.slots):
            call, record = calls[number]
            per_trace = [[births[t][i] for i in at] for t, at in enumerate(slot.at)]
            counts = {len(items) for row in per_trace for items in row}
            if len(counts) != 1:
                raise DerivationError(
                    "an operator allocates a varying number of tensors",
                    operator=record.op,
                    where=record.where or record.module,
                )
            guesses = [out.nbytes for out in call.outs]
            for j in range(counts.pop()):
                members = tuple(tuple(items[j] for items in row) for row in per_trace)
                kinds = {kind_of(m) for row in members for m in row}
                nbytes = self._bytes(slot, members, guesses, record)
                kind = kinds.pop() if len(kinds) == 1 else "temporary"
                saved = all(m.saved for row in members for m in row)
                found.append(Family(number, members, nbytes, kind, saved, slot.loop))
        return found

    def _bytes(self, slot: Slot, members: Any, guesses: Sequence[Size], record: OpRecord) -> Size:
        values = [[m.nbytes for m in row] for row in members]
        flat = [v for row in values for v in row]
        fitter = self._loops[slot.loop] if slot.loop >= 0 else self._literal
        for guess in guesses:
            if fitter.matches(guess, flat):
                return guess
        return self._fit(slot, values, "the size of a tensor", record)

    # -- what exists before the run ----------------------------------------------------------

    def held(self, pick: Callable[[Trace], tuple[Held, ...]], kind: str) -> tuple[Size, Size]:
        """(elements, bytes) of the held tensors of a kind.

        Raises:
            DerivationError: if a size is no polynomial.
        """
        groups: dict[str, list[list[Held]]] = {}
        names = [{item.name for item in pick(t)} for t in self.traces]
        same = all(n == names[0] for n in names)
        for number, t in enumerate(self.traces):
            for item in pick(t):
                if item.kind == kind:
                    # Layers whose number varies are counted together, by a path without numbers.
                    path = item.name if same else plain_module(item.name)
                    key = f"{path} {item.dtype} {len(item.shape)}"
                    groups.setdefault(key, [[] for _ in self.traces])[number].append(item)
        elements: Size = 0
        nbytes: Size = 0
        for key, rows in groups.items():
            count = self._elements(rows)
            if count is None:
                raise DerivationError(
                    "the size of a held tensor is no polynomial of the sizes",
                    operator=f"{kind} {key}",
                )
            elements = elements + count
            nbytes = nbytes + count * DTYPE_BYTES[next(r for r in rows if r)[0].dtype]
        return elements, nbytes

    def _elements(self, rows: list[list[Held]]) -> Size | None:
        """Elements of a group of held tensors: number times dimensions where all are equal."""
        if all(row and {i.shape for i in row} == {row[0].shape} for row in rows):
            numbers = [len(row) for row in rows]
            shapes = zip(*(row[0].shape for row in rows), strict=True)
            dims = [self._literal.fit(d) for d in (numbers, *shapes)]
            if all(d is not None for d in dims):
                return product(d for d in dims if d is not None)
        counts = [sum(integer(product(i.shape)) for i in row) for row in rows]
        found = self._literal.fit(counts)
        if found is None:
            # Sums over unequal tensors of many layers are short only in the sizes themselves.
            names = [n for n in self.composites if not n.startswith("_")]
            sizes = [dict(t.sizes) for t in self.traces]
            found = Fitter(sizes, [*names, *(v for v in self.variables if v != "k")]).fit(counts)
        return found if found is not None else self._by_turns(rows)

    def _by_turns(self, rows: list[list[Held]]) -> Size | None:
        """Elements of a group in which every layer holds the same few unlike tensors in order."""
        for turn in range(2, _LONGEST_TURN + 1):
            parts = [[row[at::turn] for row in rows] for at in range(turn)]
            if any(not row or len(row) % turn for row in rows) or any(
                {i.shape for i in row} != {row[0].shape} for part in parts for row in part
            ):
                continue
            found = [self._elements(part) for part in parts]
            if all(count is not None for count in found):
                return total(count for count in found if count is not None)
        return None


def _seen(traces: Sequence[Trace], values: Sequence[Sequence[int]]) -> str:
    shown: list[str] = []
    for t, row in list(zip(traces, values, strict=True))[:3]:
        sizes: Mapping[str, int] = t.sizes
        shown.append(f"{row[0]} at " + " ".join(f"{k}={v}" for k, v in sizes.items()))
    return "; ".join(shown)
