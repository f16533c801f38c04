"""What a machine adds to every time: a fixed piece of work and an empty call, as points are timed.

Between fresh processes the same work takes different times; a difference smaller than that spread
says nothing about a program.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

from costlab.errors import MeasurementError
from costlab.i18n import _
from costlab.measurement.api import measure, open_workers
from costlab.measurement.point import PointResult
from costlab.measurement.process import Workers
from costlab.measurement.timing import TimingPlan

PROCESSES = 5
_BRIEF = TimingPlan(warmup_s=0.2, min_time_s=0.1, max_time_s=0.5)


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """Process medians of the fixed work and of the empty call, in seconds.

    Attributes:
        spread: largest less smallest process median of the work, over the middle one.
        empty_s: the middle process median of a call that does nothing.
        flags: what the points were flagged with ("interference", "drift").
    """

    work_s: tuple[float, ...]
    spread: float
    empty_s: float
    flags: tuple[str, ...]


def noise_floor() -> NoiseFloor:
    """Measure it; takes some seconds, most of them for the import of torch.

    Raises:
        MeasurementError: if one of the two could not be measured.
    """
    with (
        as_file(files("costlab_profiles") / "programs" / "noise.py") as path,
        open_workers() as workers,
    ):
        work, empty = (_point(f"{path}:{name}", workers) for name in ("fixed_work", "nothing"))
    assert work.time_s is not None and empty.time_s is not None
    return NoiseFloor(
        work_s=work.samples,
        spread=(max(work.samples) - min(work.samples)) / work.time_s,
        empty_s=empty.time_s,
        flags=work.flags,
    )


def _point(target: str, workers: Workers) -> PointResult:
    found = measure(target, {}, repeats=PROCESSES, plan=_BRIEF, resident=False, workers=workers)
    if found.time_s is None:
        raise MeasurementError(
            _("the noise floor could not be measured"),
            given=found.status,
            advice=found.reasons.get("time_s", ""),
        )
    return found
