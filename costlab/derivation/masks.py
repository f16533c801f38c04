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
_PRODUCTS_BY_ENTRY = ("mul", "mul_")
_SOLVES = ("linalg_solve_triangular",)  # every entry of the result hangs on many
_SUMS = ("add", "add_", "sub", "sub_", "rsub")


@dataclass(frozen=True, slots=True)
class _Kept:
    count: int
    numel: int


def carry_masks(records: Sequence[OpRecord]) -> None:
    """Set ``kept`` and ``pairs_at`` of the products around masked scores, in place."""
    kept: dict[int, _Kept] = {}
    writers: dict[int, list[int]] = {}
    for number, record in enumerate(records):
        found: _Kept | None = None
        if record.kept is not None and record.pairs_at is not None:
            found = _Kept(record.kept, integer(record.outs[0].numel))
            _mark_maker(records, number, writers, found)
        elif record.kept is None:
            found = _carried(records, number, kept, writers)
        for storage in record.writes:
            kept.pop(storage, None)
            if found is not None:
                kept[storage] = found
            writers.setdefault(storage, []).append(number)


def _carried(
    records: Sequence[OpRecord],
    number: int,
    kept: Mapping[int, _Kept],
    writers: Mapping[int, list[int]],
) -> _Kept | None:
    """What the operator's result keeps of a masked operand; marks the operator if a product."""
    record = records[number]
    if _is(record, _SOLVES):
        return None
    tensors = _tensors(record)[int(_is(record, ("copy_",))) :]  # a copy forgets what was there
    counts = [_count(tensor, kept.get(tensor.storage)) for tensor in tensors]
    position = next((i for i, count in enumerate(counts) if count is not None), None)
    if position is None or not record.outs:
        return None
    if _is_product(record):
        record.kept, record.pairs_at = counts[position], position
        return None
    numel = integer(record.outs[0].numel)
    if _is(record, _SUMS):
        # A sum is 0 only where all that it adds is.
        whole = {c for c, t in zip(counts, tensors, strict=True) if t.numel == numel}
        count = whole.pop() if len(whole) == 1 else None
        return None if count is None else _Kept(count, numel)
    for count, tensor in zip(counts, tensors, strict=True):
        if count is None:
            continue
        if _is(record, _PRODUCTS_BY_ENTRY):
            found = _Kept(count * (numel // integer(tensor.numel)), numel)
            _mark_maker(records, number, writers, found)
            return found
        if tensor.numel == numel:
            found = _Kept(count, numel)
            if "softmax_backward" in record.op:
                _mark_maker(records, number, writers, found)
            return found
    return None


def _count(tensor: TensorSpec, found: _Kept | None) -> int | None:
    """Entries kept of a masked matrix as ``tensor`` shows it: whole, or repeated."""
    if found is None:
        return None
    repeats = 1
    for size, stride in zip(tensor.shape, tensor.stride, strict=False):
        if stride == 0:
            repeats *= integer(size)
    return found.count * repeats if tensor.numel == found.numel * repeats else None


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
            elif _is(source, _SOLVES):
                continue
            elif source.outs and source.outs[0].numel == found.numel:
                pending.append(earlier[position])


def _is_product(record: OpRecord) -> bool:
    return _is(record, _PRODUCTS)


def _is(record: OpRecord, names: tuple[str, ...]) -> bool:
    return record.op.split(".")[1] in names


def _tensors(record: OpRecord) -> list[TensorSpec]:
    return list(Call(record.op, record.args, record.outs).tensors())
