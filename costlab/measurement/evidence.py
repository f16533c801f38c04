"""What the passes of a point have brought, before it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from costlab.measurement.energy_pass import EnergyResult
from costlab.measurement.judge_results import ResultCheck
from costlab.measurement.point import PassRecord, ProcessTiming
from costlab.measurement.process import Outcome
from costlab.measurement.shared_core import as_if_alone, counted, quick_s, quickest_of
from costlab.measurement.statistics import median
from costlab.measurement.watch import Observation


@dataclass(slots=True)
class Evidence:
    """Timings, what was seen beside each of them, memory, and the failure that ended it.

    ``checks`` are what each timed process saw of its answers, ``retries`` how often the device's
    allocator had to free its cache meanwhile; ``flags`` and ``reasons`` are those known before
    judging.
    """

    timings: list[ProcessTiming] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    checks: list[ResultCheck] = field(default_factory=list)
    sound: bool = True
    retries: int = 0
    memory: dict[str, Any] = field(default_factory=dict)
    energy: EnergyResult | None = None
    failure: Outcome | None = None
    passes: list[PassRecord] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def medians(self) -> tuple[float, ...]:
        """The medians of the processes that count, in the order they were measured, in seconds."""
        quickest_s = quickest_of(self.timings)
        return tuple(
            as_if_alone(self.timings[place], quickest_s).median_s for place in counted(self.timings)
        )

    @property
    def quick(self) -> tuple[float, ...]:
        """The tenth percentiles of the same processes, in seconds."""
        quickest_s = quickest_of(self.timings)
        return tuple(quick_s(self.timings[place], quickest_s) for place in counted(self.timings))

    @property
    def cold_time_s(self) -> float | None:
        """Median over processes of the medians of cold calls; None where there were none."""
        cold = [median(one.cold_samples_s) for one in self.timings if one.cold_samples_s]
        return median(cold) if cold else None

    def typical(self, name: str) -> float | None:
        """Median over processes of a field of their timings; None where it is unknown."""
        quickest_s = quickest_of(self.timings)
        values = [getattr(as_if_alone(one, quickest_s), name) for one in self.timings]
        known = [value for value in values if value is not None]
        return median(known) if known else None

    def add(self, timing: ProcessTiming, message: Mapping[str, Any]) -> None:
        """Take in what one timed process sent."""
        self.timings.append(timing)
        self.sound = self.sound and message["sound"]
        self.retries += message.get("retries", 0)
        self.checks.append(ResultCheck.from_json(message["check"]))
