"""Which storages are alive at which moment, as sums of symbolic sizes.

Every storage belongs to a *family*: the slot it is born in and its order among that slot's
storages. Inside a loop a family has one member per pass, and those alive at a moment are a range
of passes whose ends are a constant or a constant below the trip count, the same in every trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from costlab.algebra import Expr, Size, as_expr, sum_range, total
from costlab.derivation.align import PEEL, Alignment
from costlab.errors import DerivationError
from costlab.trace.records import OpRecord, StorageRecord, Trace

PASS = "_t"  # the pass number inside a loop, in expressions
_PASSES = (0, 1, -1)


@dataclass(frozen=True, slots=True)
class Family:
    """Storages of one slot and order; ``members[i]`` are those of trace i, one per pass."""

    slot: int
    members: tuple[tuple[StorageRecord, ...], ...]
    nbytes: Size
    kind: str
    saved: bool
    loop: int


@dataclass(frozen=True, slots=True)
class MomentAt:
    """One operator of the program as a moment: its slot, and which pass for a loop body."""

    slot: int
    at: tuple[int, ...]
    pass_number: Size | None


def storages_of(trace: Trace) -> list[list[StorageRecord]]:
    """Storages born at each operator, in order."""
    births: list[list[StorageRecord]] = [[] for _ in trace.ops]
    for storage in trace.storages:
        if 0 <= storage.birth < len(births):
            births[storage.birth].append(storage)
    return births


def kind_of(record: StorageRecord) -> str:
    if record.kind == "temporary" and record.saved:
        return "saved"
    return record.kind


def moments(alignment: Alignment, trip: Expr | None) -> list[MomentAt]:
    """Every literal operator, and each loop body at its first, second and last inner pass.

    What lives from one pass into the next has settled by the second; between, the live bytes of
    a body position are linear in the pass. The check against every trace's peak guards this.
    """
    found: list[MomentAt] = []
    slots = list(enumerate(alignment.slots))
    position = 0
    while position < len(slots):
        number, slot = slots[position]
        if slot.loop < 0:
            found.append(MomentAt(number, tuple(a[0] for a in slot.at), None))
            position += 1
            continue
        if min(map(len, slot.at)) < 2:
            raise DerivationError(
                "a loop has too few passes to see what lives from one into the next"
            )
        body = [s for s in slots[position:] if s[1].loop == slot.loop]
        assert trip is not None
        last = trip + (alignment.loops[slot.loop].offset - 1 - PEEL)
        for which in _PASSES:
            passed = as_expr(PEEL + which) if which >= 0 else last + (which + 1)
            for n, s in body:
                found.append(MomentAt(n, tuple(a[which] for a in s.at), passed))
        position += len(body)
    return found


class LiveSets:
    """Symbolic bytes alive at moments, from families whose sizes are known."""

    def __init__(
        self,
        families: Sequence[Family],
        alignment: Alignment,
        trips: Sequence[int] | None,
        trip: Expr | None,
        records: Sequence[OpRecord],
    ) -> None:
        self._families = families
        self._alignment = alignment
        self._trips = trips
        self._trip = trip
        self._records = records
        self._sums: dict[tuple[int, object, object], Size] = {}

    def live(self, points: Sequence[MomentAt]) -> list[Mapping[str, Size]]:
        """Bytes by kind of the families alive at each moment."""
        at = np.array([p.at for p in points], dtype=np.int64)
        columns = [self._column(number, family, at) for number, family in enumerate(self._families)]
        rows: list[Mapping[str, Size]] = []
        for row in range(len(points)):
            by_kind: dict[str, list[Size]] = {}
            for family, column in zip(self._families, columns, strict=True):
                size = column[row]
                if size is not None:
                    by_kind.setdefault(family.kind, []).append(size)
            rows.append({kind: total(sizes) for kind, sizes in by_kind.items()})
        return rows

    def _column(self, number: int, family: Family, at: NDArray[np.int64]) -> list[Size | None]:
        if family.loop < 0:
            alive = self._alive(family, at, 0)
            if not (alive == alive[:, :1]).all():
                self._fail(family)
            return [family.nbytes if a else None for a in alive[:, 0]]
        assert self._trips is not None
        lows, highs = [], []
        for trace in range(at.shape[1]):
            births = np.array([m.birth for m in family.members[trace]])
            deaths = np.array([max(m.death, m.birth + 1) for m in family.members[trace]])
            mask = (births[None, :] <= at[:, trace : trace + 1]) & (
                deaths[None, :] > at[:, trace : trace + 1]
            )
            count = mask.sum(axis=1)
            low = np.where(count > 0, mask.argmax(axis=1), -1)
            high = np.where(count > 0, mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1), -2)
            if not (high - low + 1 == np.where(count > 0, count, 0)).all():
                self._fail(family)
            lows.append(low)
            highs.append(high)
        low_table, high_table = np.array(lows).T, np.array(highs).T
        return [
            self._range(number, family, low_table[row], high_table[row])
            for row in range(at.shape[0])
        ]

    def _alive(self, family: Family, at: NDArray[np.int64], which: int) -> NDArray[np.bool_]:
        births = np.array([m[which].birth for m in family.members])
        deaths = np.array([max(m[which].death, m[which].birth + 1) for m in family.members])
        return (births[None, :] <= at) & (deaths[None, :] > at)

    def _range(
        self, number: int, family: Family, low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> Size | None:
        some = high >= low
        if not some.any():
            return None
        key = (number, tuple(low), tuple(high))
        if key not in self._sums:
            first, last = (self._end(family, end, some) for end in (low, high))
            count = last - first + 1
            for trip in self._trips_where(~some):
                # With few passes the range may be empty: its ends must say so too.
                if count.evaluate(dict.fromkeys(count.symbols(), trip)) != 0:
                    self._fail(family)
            nbytes = as_expr(family.nbytes)
            if PASS in nbytes.symbols():
                self._sums[key] = sum_range(nbytes, PASS, first, last)
            else:
                self._sums[key] = nbytes * count
        return self._sums[key]

    def _end(self, family: Family, positions: NDArray[np.int64], where: NDArray[np.bool_]) -> Expr:
        """A pass number as a constant, or as a constant below the number of passes.

        ``where`` says in which traces the position counts; there must be two trip counts in it.
        """
        assert self._trip is not None
        trips, found = self._trips_where(where), positions[where]
        if len(set(trips)) == 1 and not where.all():
            self._fail(family)
        if (found == found[0]).all() and len(set(trips)) > 1:
            return as_expr(int(found[0]) + PEEL)
        below = found - np.array(trips)
        if (below == below[0]).all():
            return self._trip + (int(below[0]) + PEEL)
        self._fail(family)
        raise AssertionError

    def _trips_where(self, where: NDArray[np.bool_]) -> list[int]:
        assert self._trips is not None
        return [trip for trip, chosen in zip(self._trips, where, strict=True) if chosen]

    def _fail(self, family: Family) -> None:
        raise DerivationError(
            "a tensor's lifetime is not the same function of the sizes in every trace",
            operator=self._records[family.slot].op,
            where=self._records[family.slot].where or self._records[family.slot].module,
        )
