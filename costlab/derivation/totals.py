"""Sums of cost rules over the calls of a program: symbolic for formulas, integers for checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

import costlab.rules as _rules  # noqa: F401  (registers every rule)
from costlab.algebra import Size, exact_div, product
from costlab.errors import AlgebraError
from costlab.graph import Call
from costlab.rules.base import Cost, find_rule
from costlab.trace.records import OpRecord

COUNTED = ("flop", "flop_matmul", "flop_useful", "bytes", "launches")
Value = Union[Size, float]


@dataclass(frozen=True, slots=True)
class Priced:
    """A call with its cost; ``cost`` None marks a gap, ``useful`` None what cannot be told."""

    call: Call
    cost: Cost | None
    useful: Size | None

    def quantity(self, name: str) -> Size:
        cost = self.cost
        if cost is None:
            return 0
        match name:
            case "flop":
                return cost.flop_matmul + cost.flop_other
            case "flop_matmul":
                return cost.flop_matmul
            case "flop_useful":
                return cost.flop_matmul if self.useful is None else self.useful
            case "bytes":
                return cost.bytes_read + cost.bytes_written
            case "launches":
                return cost.launches
        raise KeyError(name)


def price(call: Call, pairs_at: int | None = None) -> Priced:
    """Ask the rule for ``call``; ``pairs_at`` says which of its tensors is a masked matrix."""
    rule = find_rule(call.op)
    if rule is None:
        return Priced(call, None, None)
    cost = rule(call)
    useful = cost.flop_useful
    if useful is None:
        useful = cost.flop_matmul
        if call.kept is not None and pairs_at is not None and cost.flop_matmul != 0:
            pairs = call.outs[0] if pairs_at < 0 else list(call.tensors())[pairs_at]
            try:
                useful = exact_div(cost.flop_matmul, product(pairs.shape)) * call.kept
            except AlgebraError:
                useful = cost.flop_matmul
    return Priced(call, cost, useful)


def concrete_call(record: OpRecord, backend: str) -> Call:
    """A record of a real run as a call with integer shapes."""
    return Call(record.op, record.args, record.outs, backend, record.kept)


def depth(records: Sequence[OpRecord], steps: Sequence[int]) -> int:
    """Dependent steps: the longest chain of operators through the storages they read and write."""
    ready: dict[int, int] = {}
    longest = 0
    for record, step in zip(records, steps, strict=True):
        start = max((ready.get(s, 0) for s in record.reads), default=0)
        end = start + step
        for storage in record.writes:
            ready[storage] = max(ready.get(storage, 0), end)
        longest = max(longest, end)
    return longest
