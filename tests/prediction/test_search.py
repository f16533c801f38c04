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
