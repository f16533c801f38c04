"""Recurrent and dense attention entries at sizes whose counts are known from elsewhere.

Where an entry does more than the implementation it is compared with, the surplus is written out.
"""

from __future__ import annotations

import pytest

from costlab.formulas.store import load
from tests.arch.integers import Row, counted

V3 = {"b": 1, "d": 7168, "h": 128, "k": 128, "p": 64, "q": 1536, "r": 512}


# fmt: off
ROWS = (
    Row("gqa_attention", {"b": 1, "n": 4096, "d": 4096, "h": 32, "g": 8, "k": 128},
        618_475_290_624, "2 b n (2 d h k + 2 d g k) + 4 b n**2 h k"),
    Row("gqa_attention", {"b": 1, "n": 4096, "d": 4096, "h": 32, "g": 1, "k": 128},
        558_345_748_480, "2 b n (2 d h k + 2 d g k) + 4 b n**2 h k"),
    Row("latent_attention", {**V3, "n": 4096}, 2_907_155_988_480,
        "transformers 5.24, DeepseekV3Attention, torch's counter on meta",
        more=2 * 128 * 4096**2 * 64),  # zeros beside the values
    Row("latent_attention", {**V3, "n": 4095}, 138_115_153_920,
        "2 (d q + q h (k + p) + d (r + p) + h k d) + 4 T r h k + 2 h T (2 k + p)",
        more=2 * 128 * 4096 * 64, mode="decode"),
    Row("latent_attention", {**V3, "n": 4095}, 1_515_061_248,
        "2 (d q + q h (k + p) + d (r + p) + h k d) + 4 h k r + 2 h T (2 r + p)",
        more=2 * 128 * 4096 * 64, mode="decode", option={"absorbed": True}),
)
# fmt: on


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.flop}")
def test_matrix_flop_is_what_was_counted_elsewhere(row: Row) -> None:
    assert counted(row) == row.flop + row.more, row.source


@pytest.mark.parametrize(
    ("name", "sizes", "layers", "nbytes"),
    [
        ("gqa_attention", {"n": 262_144, "d": 4096, "h": 32, "g": 8, "k": 128}, 32, 2**35),
        ("gqa_attention", {"n": 262_144, "d": 4096, "h": 32, "g": 8, "k": 128}, 4, 2**32),
        ("latent_attention", {**V3, "n": 1}, 61, 70_272),
        ("flash_attention", {"n": 1, "d": 768, "h": 12}, 12, 36_864),
    ],
    ids=["Mixtral 8x7B", "Jamba", "DeepSeek-V3", "GPT-2 small"],
)
def test_state_of_published_models_in_bfloat16(
    name: str, sizes: dict[str, int], layers: int, nbytes: int
) -> None:
    """Attention layers times the derived state of one, against 2 bytes by hand."""
    found = load(name, "decode", "bfloat16").evaluate("state_bytes", **{"b": 1, **sizes})
    assert layers * found["state_bytes"] == nbytes
