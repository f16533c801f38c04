"""What the sections of ``gpu_check`` share, and what each of them returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from costlab.hardware.calibration_record import CalibrationRecord
from costlab.measurement.fork_server import ForkedWorkers
from costlab.measurement.process import Outcome, SpawnedWorkers, Workers


@dataclass(slots=True)
class Check:
    """What the sections share.

    Attributes:
        device: "cuda:N", or "cpu" in a dry run.
        dry_run: whether sizes and times are tiny.
        out: folder of the results.
        scratch: folder of the store.
        workers: processes of the measured passes, forked where that works.
        uuid: the device's, once known.
        facts: what ``gpu_child`` says of the device.
        nvml: readings of every GPU.
        records: calibrations by dtype.
        measured: points of the recorded run, whose name is ``run``.
    """

    device: str
    dry_run: bool
    out: Path
    scratch: Path
    run: str
    workers: Workers
    uuid: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    nvml: list[dict[str, Any]] = field(default_factory=list)
    records: dict[str, CalibrationRecord] = field(default_factory=dict)
    measured: list[dict[str, Any]] = field(default_factory=list)

    @property
    def backend(self) -> str:
        return "cpu" if self.device == "cpu" else "cuda"

    def close(self) -> None:
        """End the workers' server, if there is one."""
        if isinstance(self.workers, ForkedWorkers):
            self.workers.__exit__(None, None, None)

    def job(self, name: str, timeout_s: float, **request: Any) -> Outcome:
        """Run a job of ``gpu_child`` in a process of its own."""
        asked = {"job": name, "device": self.device, **request}
        return SpawnedWorkers(1, "benchmarks.gpu_child").run(asked, max(timeout_s, 0.1))


@dataclass(slots=True)
class Findings:
    """Data of a section and what it checked: (what, verdict, detail)."""

    data: dict[str, Any] = field(default_factory=dict)
    checks: list[tuple[str, bool | None, str]] = field(default_factory=list)

    def check(self, what: str, verdict: bool | None, detail: object = "") -> None:
        self.checks.append((what, verdict, str(detail)))


Section = Callable[[Check, float], Findings]


def left(until: float) -> float:
    """Seconds until the moment ``until`` of the monotonic clock."""
    return until - time.monotonic()


def failures(checks: Iterable[Sequence[Any]]) -> list[str]:
    """What was checked and did not hold."""
    return [f"{what}: {detail}" for what, verdict, detail in checks if verdict is False]
