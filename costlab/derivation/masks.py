"""Which matrix products work on scores that a mask has thinned, and how many pairs it keeps.

A mask is seen where it acts: an operator such as softmax that leaves exact zeros. Its count is
carried forward through element-wise operators of the same size to the products that read the
matrix, and back to the product that made it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from costlab.algebra import integer
from costlab.graph import Call, TensorSpec
from costlab.trace.records import OpRecord

_PRODUCTS = ("bmm", "mm", "baddbmm", "addmm")


@dataclass(frozen=True, slots=True)
class _Kept:
    count: int
    numel: int


def carry_masks(records: Sequence[OpRecord]) -> None:
    """Set ``kept`` and ``pairs_at`` of the products around masked scores, in place."""
    kept: dict[int, _Kept] = {}
    writers: dict[int, list[int]] = {}
    for number, record in enumerate(records):
        if record.kept is not None and record.pairs_at is not None:
            found = _Kept(record.kept, integer(record.outs[0].numel))
            _mark_maker(records, number, writers, found)
            kept.update((storage, found) for storage in record.writes)
        elif record.kept is None:
            _carry(records, number, kept, writers)
        for storage in record.writes:
            writers.setdefault(storage, []).append(number)


def _carry(
    records: Sequence[OpRecord],
    number: int,
    kept: dict[int, _Kept],
    writers: Mapping[int, list[int]],
) -> None:
    record = records[number]
    for position, tensor in enumerate(_tensors(record)):
        found = kept.get(tensor.storage)
        if found is None or tensor.numel != found.numel:
            continue
        if _is_product(record):
            record.kept, record.pairs_at = found.count, position
        elif record.outs and record.outs[0].numel == found.numel:
            if "softmax_backward" in record.op:
                _mark_maker(records, number, writers, found)
            kept.update((storage, found) for storage in record.writes)
        return


def _mark_maker(
    records: Sequence[OpRecord],
    number: int,
    writers: Mapping[int, list[int]],
    found: _Kept,
) -> None:
    """Walk back from ``number`` through operators of the matrix's size to the products."""
    seen: set[int] = set()
    pending = [number]
    while pending:
        here = pending.pop()
        for tensor in _tensors(records[here]):
            earlier = writers.get(tensor.storage, [])
            position = bisect_left(earlier, here) - 1
            if position < 0 or tensor.numel != found.numel or earlier[position] in seen:
                continue
            source = records[earlier[position]]
            seen.add(earlier[position])
            if _is_product(source):
                if source.kept is None:
                    source.kept, source.pairs_at = found.count, -1
            elif source.outs and source.outs[0].numel == found.numel:
                pending.append(earlier[position])


def _is_product(record: OpRecord) -> bool:
    return record.op.split(".")[1] in _PRODUCTS


def _tensors(record: OpRecord) -> list[TensorSpec]:
    return list(Call(record.op, record.args, record.outs).tensors())
