"""Which pairs the Reformer's hashing meets, against the formula of what it misses."""

from __future__ import annotations

import math

import pytest
import torch

from benchmarks.recall import measure
from costlab.arch import lsh_attention
from costlab.formulas.structure import agreement, missed

TRIALS = 20_000


@pytest.mark.parametrize(("degrees", "bits", "rounds"), [(20, 3, 1), (45, 2, 3), (70, 1, 4)])
def test_a_pair_is_missed_as_often_as_the_formula_says(
    degrees: int, bits: int, rounds: int
) -> None:
    """Two vectors an angle apart through the module's own hash, in as many heads of their own."""
    angle = math.radians(degrees)
    config = lsh_attention.Config(3 * TRIALS, TRIALS, 4, rounds, bits)
    pair = torch.tensor([[1.0, 0.0, 0.0], [math.cos(angle), math.sin(angle), 0.0]])
    buckets = lsh_attention.HashedCore(config).hash(pair.expand(1, TRIALS, 2, 3))

    apart = (buckets[..., 0] != buckets[..., 1]).all(-1)

    expected = missed(agreement(angle, bits), rounds)
    deviation = math.sqrt(expected * (1 - expected) / TRIALS)
    assert float(apart.double().mean()) == pytest.approx(expected, abs=5 * deviation)


def test_rounds_raise_what_is_met_to_no_more_than_the_formula() -> None:
    """A bucket that is longer than two chunks is cut, so that fewer pairs meet than share one."""
    torch.manual_seed(0)
    with torch.no_grad():
        found = [measure(256, 32, rounds, math.radians(30)) for rounds in (1, 2, 4, 8)]

    met = [item.met for item in found]
    assert met == sorted(met)
    assert met[-1] > met[0] + 0.3
    assert all(item.met < item.formula + 0.05 for item in found)
    assert [item.softmax for item in found] == sorted(item.softmax for item in found)
