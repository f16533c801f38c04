"""Settles blocks whose size only a kernel knows (oneDNN's LSTM workspace) on the rule's formula.

The formula is exact for one build and processor; another packs differently. A trace is settled so
that a derivation is the same everywhere; what a machine really allocates is seen in measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from costlab.algebra import integer
from costlab.graph import Arg, Call, TensorSpec
from costlab.rules.base import opaque_size
from costlab.trace.records import Trace


def settle(trace: Trace) -> list[str]:
    """Replace opaque sizes of ``trace`` by the rules'; return a note for each that differed."""
    notes: list[str] = []
    settled: dict[int, TensorSpec] = {}
    for record in trace.ops:
        if settled:
            record.args = {name: _replaced(value, settled) for name, value in record.args.items()}
        for index, out in enumerate(record.outs):
            size = opaque_size(Call(record.op, record.args, ()), index)
            if size is None or out.numel == size:
                continue
            notes.append(f"{record.op} allocates {out.numel} here, {size} by its formula")
            block = TensorSpec((size,), (1,), out.dtype, out.storage)
            settled[out.storage] = block
            record.outs = (*record.outs[:index], block, *record.outs[index + 1 :])
            trace.storages[out.storage] = replace(
                trace.storages[out.storage],
                nbytes=integer(block.nbytes),
            )
    return notes


def _replaced(value: Arg, settled: Mapping[int, TensorSpec]) -> Arg:
    if isinstance(value, TensorSpec):
        return settled.get(value.storage, value)
    if isinstance(value, tuple):
        return tuple(_replaced(item, settled) for item in value)
    return value
