"""What is kept about where classes lie, against finding it anew at every step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from costlab.formulas import store
from costlab.prediction.placing import parts_along

PROGRAMS = ("lsh_attention", "longformer", "sliding_window", "gqa_attention", "transformer_block")
DRAWN: dict[str, tuple[int, ...]] = {
    "b": (1, 2), "d": (60, 64, 96, 512), "h": (1, 4, 8), "w": (1, 16, 48), "c": (16, 64),
    "G": (1, 40), "g": (1, 2), "k": (8, 16), "L": (1, 3), "R": (1, 2), "threads": (1, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_of_a_slider_finds_the_classes_that_hold(name: str) -> None:
    derivation = store.load(name, "forward", "float32", "cpu")
    kept = np.array([1, *range(16, 640, 16)], dtype=np.float64)
    kept.flags.writeable = False
    draw = np.random.default_rng(3)
    seen = set()
    for _step in range(60):
        known = {*derivation.sizes, "threads"} - {"n", *derivation.auxiliary}
        sizes = {key: int(draw.choice(of)) for key, of in DRAWN.items() if key in known}
        anew = parts_along(derivation, "n", kept.copy(), sizes)
        found = parts_along(derivation, "n", kept, sizes)
        assert [_plain(one) for one in _whole(*found)] == [_plain(one) for one in _whole(*anew)]
        assert [part.mask is None for part in found[1]] == [part.mask is None for part in anew[1]]
        seen |= {part.index for part in found[1]}
    assert len(seen) >= min(2, len(derivation.classes))


def _whole(full: dict[str, Any], parts: tuple[Any, ...]) -> list[dict[str, Any]]:
    """All sizes of every class, its number and where it holds."""
    return [
        {**full, **part.arrays, "index": part.index, "shape": part.shape, "mask": part.mask}
        for part in parts
    ]


def _plain(sizes: dict[str, Any]) -> dict[str, Any]:
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in sizes.items()}
