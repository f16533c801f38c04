"""Sparse, low-rank, kernel and state-space entries at sizes where others' code was counted.

What an entry does more or less than the implementation it is compared with is written out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
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
    option: dict[str, bool] = field(default_factory=dict)


# fmt: off
ROWS = (
    Row("linformer", {"b": 1, "n": 4096, "d": 768, "h": 12, "r": 256}, 25_769_803_776,
        "linformer 0.2.3, LinformerSelfAttention, torch's counter on meta"),
    Row("longformer", {"b": 1, "n": 4096, "d": 768, "h": 12, "w": 256, "G": 1}, 35_057_172_480,
        "transformers 5.24, LongformerSelfAttention on the CPU, whose chunks of 2w overlap by w",
        # Our output projection; blocks of w see 3w keys: 12nwd in place of 14nwd - 8w**2d.
        more=2 * 4096 * 768**2 - 2 * 4096 * 256 * 768 + 8 * 256**2 * 768),
)
# fmt: on


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_matrix_flop_is_what_was_counted_elsewhere(row: Row) -> None:
    with torch.device("meta"):
        module, inputs = registry.load(row.name).build(**row.sizes, **row.option)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*inputs)
    path = f"{type(module).__name__}.{row.part}" if row.part else "Global"
    assert sum(counter.get_flop_counts()[path].values()) == row.flop + row.more, row.source
