"""Sparse, low-rank, kernel and state-space entries at sizes where others' code was counted.

What an entry does more or less than the implementation it is compared with is written out.
"""

from __future__ import annotations

import pytest
import torch

from costlab.arch import registry
from tests.arch.integers import Row, counted

# fmt: off
ROWS = (
    Row("linformer", {"b": 1, "n": 4096, "d": 768, "h": 12, "r": 256}, 25_769_803_776,
        "linformer 0.2.3, LinformerSelfAttention, torch's counter on meta"),
    Row("longformer", {"b": 1, "n": 4096, "d": 768, "h": 12, "w": 256, "G": 1}, 35_057_172_480,
        "transformers 5.24, LongformerSelfAttention on the CPU, whose chunks of 2w overlap by w",
        # Our output projection; blocks of w see 3w keys: 12nwd in place of 14nwd - 8w**2d.
        more=2 * 4096 * 768**2 - 2 * 4096 * 256 * 768 + 8 * 256**2 * 768),
    Row("bigbird", {"b": 1, "n": 4096, "d": 768, "h": 12, "c": 64, "r": 3, "G": 128},
        22_322_085_888, "transformers 5.24, BigBirdBlockSparseAttention on the CPU",
        # Our output projection; blocks that are global or next to one meet as many keys as others.
        more=2 * 4096 * 768**2 + 4 * 768 * 64 * (2 * 8 + 2) * 64),
    Row("performer", {"b": 1, "n": 4096, "d": 768, "h": 12, "r": 256, "c": 64}, 6_467_616_768,
        "performer-pytorch 1.1.4, bidirectional core, torch's counter on meta", part="core",
        # The normaliser is a sum by entry here, and no product.
        more=-2 * 4096 * 12 * 256),
    Row("mamba", {"b": 1, "n": 512, "d": 768, "s": 16, "r": 48, "c": 16}, 3_856_699_392,
        "transformers 5.24, MambaMixer on the CPU",
        # Its convolution is padded at both ends, and cut off.
        more=-2 * 4 * 3 * 2 * 768),
    Row("mamba2", {"b": 1, "n": 16384, "d": 1024, "h": 32, "s": 128, "c": 256}, 70_934_593_536,
        "transformers 5.24, mamba2_chunk_scan on meta", part="core",
        # C B^T once in place of per head, no product of chunks by chunks; the convolution.
        more=-31 * 2 * 16384 * 256 * 128 - 2 * 32 * 65**2 * 128 * 64 + 8 * 16384 * 2304),
    Row("gated_deltanet", {"b": 1, "n": 4096, "d": 64, "h": 16, "k": 128, "c": 64}, 9_663_676_416,
        "transformers 5.24, torch_chunk_gated_delta_rule on meta, without its solves", part="core"),
)
# fmt: on


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_matrix_flop_is_what_was_counted_elsewhere(row: Row) -> None:
    assert counted(row) == row.flop + row.more, row.source


def test_parameters_of_a_mamba_mixer() -> None:
    """transformers' MambaMixer of width 768 has 3,770,880."""
    with torch.device("meta"):
        module, _ = registry.load("mamba").build(b=1, n=1, d=768)
    assert sum(p.numel() for p in module.parameters()) == 3_770_880
