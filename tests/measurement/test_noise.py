"""The noise floor through the real machinery: fresh processes, fixed work, an empty call."""

from __future__ import annotations

from costlab.measurement.noise import PROCESSES, noise_floor


def test_fixed_work_takes_longer_than_nothing_in_every_process() -> None:
    found = noise_floor()

    assert len(found.work_s) == PROCESSES
    assert 0 < found.empty_s < min(found.work_s)
    middle = sorted(found.work_s)[PROCESSES // 2]
    assert found.spread == (max(found.work_s) - min(found.work_s)) / middle
