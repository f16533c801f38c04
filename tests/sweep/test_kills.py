"""A few of the kills of ``benchmarks.kills``, which makes a hundred."""

from __future__ import annotations

from benchmarks.kills import KINDS, run


def test_killed_sweeps_lose_and_double_nothing(seed: int) -> None:
    tally = run(kills=9, real=0, seed=seed)

    assert tally.sound, tally
    assert [tally.kills[kind] for kind in KINDS] == [3, 3, 3]
    assert tally.points == 8 * tally.sweeps
