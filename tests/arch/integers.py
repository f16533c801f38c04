"""Entries at sizes whose matrix FLOP are known from elsewhere, and torch's own count of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch.utils.flop_counter import FlopCounterMode

from costlab.arch import registry


@dataclass(frozen=True, slots=True)
class Row:
    """``flop`` as counted in ``source``, plus ``more`` that only this entry does.

    ``part`` is the submodule that was counted, empty for the whole layer.
    """

    name: str
    sizes: dict[str, int]
    flop: int
    source: str
    more: int = 0
    part: str = ""
    mode: str = "forward"
    option: dict[str, bool] = field(default_factory=dict)


def counted(row: Row) -> int:
    """What torch's counter gives for the row's module on ``meta``."""
    found = registry.load(row.name)
    with torch.device("meta"):
        if row.mode == "decode":
            assert found.build_decode is not None
            step, new, state = found.build_decode(**row.sizes, **row.option)
            inputs: tuple[object, ...] = (*new, state)
        else:
            step, inputs = found.build(**row.sizes, **row.option)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        step(*inputs)
    path = f"{type(step).__name__}.{row.part}" if row.part else "Global"
    return int(sum(counter.get_flop_counts()[path].values()))
