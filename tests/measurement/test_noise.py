"""The noise floor through the real machinery: fresh processes, fixed work, an empty call."""

from __future__ import annotations

import pytest

from costlab.measurement.noise import PROCESSES, noise_floor
from costlab.measurement.statistics import median


def test_fixed_work_takes_longer_than_nothing_in_every_process() -> None:
    found = noise_floor()

    # Fewer where some never had a core to themselves, though as many again were tried.
    assert 3 <= len(found.work_s) <= 2 * PROCESSES
    assert 0 < found.empty_s < min(found.work_s)
    middle = median(found.work_s)
    assert found.spread == pytest.approx((max(found.work_s) - min(found.work_s)) / middle)
