"""A second thread that looks at the core while a call runs."""

from __future__ import annotations

import os
import time

import pytest

from costlab.measurement.lookout import Lookout
from costlab.measurement.shared_core import Core

_QUICK_S = 10e-6


def _compute_until_seen(lookout: Lookout) -> None:
    end_s = time.monotonic() + 30
    while lookout.used_s == 0 and time.monotonic() < end_s:
        sum(range(1000))


@pytest.mark.parametrize(("probe_s", "share"), [(_QUICK_S, 0.0), (2.1 * _QUICK_S, 1.0)])
def test_a_long_call_is_looked_at_from_within(probe_s: float, share: float) -> None:
    core = Core(_QUICK_S, lambda: probe_s)
    lookout = Lookout(core, lambda: probe_s)
    try:
        with lookout.watch():
            _compute_until_seen(lookout)
        assert lookout.used_s > 0
        assert lookout.share == share
        with lookout.watch():
            pass
        assert (lookout.used_s, lookout.share) == (0, 0)
    finally:
        lookout.close()
        core.leave()


def test_the_calling_thread_may_go_where_it_could_before() -> None:
    allowed = os.sched_getaffinity(0)
    core = Core(_QUICK_S, lambda: _QUICK_S)
    lookout = Lookout(core)

    with lookout.watch():
        assert len(os.sched_getaffinity(0)) == 1
    lookout.close()
    core.leave()

    assert os.sched_getaffinity(0) == allowed
