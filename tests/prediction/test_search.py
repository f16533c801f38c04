"""Sizes that complete the others, whichever one is left open."""

from __future__ import annotations

import numpy as np

from costlab.formulas.store import load
from costlab.prediction.grid import curve
from costlab.prediction.search import own_sizes


def test_a_size_below_the_line_can_be_left_open() -> None:
    """Heads divide the width: what completes the sizes is 1 head, not a multiple of everything."""
    derivation = load("full_attention")
    own = own_sizes(derivation, {"n": 4096, "d": 512}, "h")
    assert own["n"] == 4096 and own["d"] == 512
    heads = np.array([8.0, 12.0, 16.0])
    found = curve(derivation, "h", heads, own, "flop", None)
    assert np.isfinite(found.value).tolist() == [True, False, True], "512 is not in twelfths"


def test_sizes_that_follow_from_the_searched_one_are_left_open() -> None:
    assert "r" not in own_sizes(load("lsh_attention"), {}, "n")
    assert own_sizes(load("lsh_attention"), {"r": 3}, "n")["r"] == 3
    assert own_sizes(load("gqa_attention"), {"h": 8, "d": 64}, "n").get("k") is None
