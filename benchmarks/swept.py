"""Points as a sweep measures them, in a store that is gone afterwards."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from costlab.measurement.point import PointResult, PointSpec
from costlab.measurement.timing import TimingPlan
from costlab.store import Store
from costlab.sweep import SweepPlan, run_sweep


def swept(points: Sequence[PointSpec], seed: int, timing: TimingPlan) -> list[PointResult]:
    """Times and exact peaks of ``points``, a dozen in turns, as each is done."""
    plan = SweepPlan(tuple(points), seed, resident=False, energy=False, timing=timing)
    found = []
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.sqlite") as store:
        for number, result in enumerate(run_sweep(plan, store), start=1):
            print(f"  {number:4} of {len(points)} {result.architecture}", file=sys.stderr)
            found.append(result)
    return found
