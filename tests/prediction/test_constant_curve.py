"""A time that does not depend on the size on the axis still has a value at every size."""

from __future__ import annotations

import numpy as np

from costlab.formulas.store import load
from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import Machine
from costlab.prediction.grid import curve
from costlab.prediction.search import own_sizes


def test_a_token_of_a_recurrent_program_costs_the_same_after_any_length() -> None:
    machine = Machine.from_profile(load_profile("L4"), "float32")
    derivation = load("lstm", "decode", "float32", "cuda")
    lengths = np.array([128.0, 1024.0, 65_536.0])
    own = own_sizes(derivation, {"d": 512}, "n")
    for hands in (None, 2.0 * machine.width):
        found = curve(derivation, "n", lengths, own, "time", machine, hands=hands)
        assert found.value.shape == found.low.shape == lengths.shape
        assert len(set(found.value.tolist())) == 1 and found.value[0] > 0
