"""Watches the machine from the parent while a worker measures: other load, other CostLabs, clocks.

A reading is taken when a pass begins, about ten times a second while it runs, and when it ends.
Nothing waits in a loop: the reader of the worker's messages calls :meth:`Watch.poll`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from costlab.devices.readers import DeviceReader
from costlab.devices.readings import Sample

_SAMPLE_EVERY_S = 0.1
_SCAN_EVERY_S = 2.0
_SCAN_HOLDS_S = 0.5
_PROC = Path("/proc")
# What a CostLab that measures or calibrates runs as.
_MODULES = frozenset({
    "costlab.measurement.worker", "costlab.measurement.fork_server", "costlab.calibration.worker",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Observation:
    """What went on besides one pass.

    Attributes:
        others_cpus: how many CPUs all other processes kept busy on average, time that a
            hypervisor took away included; None if the pass was too short to tell.
        costlabs: process ids of other CostLabs that were measuring.
        samples: readings of the device, in the order of time.
        cost_s: what watching took of a CPU.
    """

    others_cpus: float | None = None
    costlabs: tuple[int, ...] = ()
    samples: tuple[Sample, ...] = ()
    cost_s: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "others_cpus": self.others_cpus, "costlabs": list(self.costlabs),
            "samples": [sample.to_json() for sample in self.samples], "cost_s": self.cost_s,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Observation:
        """Inverse of :meth:`to_json`."""
        samples = tuple(Sample.from_json(sample) for sample in data["samples"])
        return cls(data["others_cpus"], tuple(data["costlabs"]), samples, data["cost_s"])


@dataclass(frozen=True, slots=True)
class Senses:
    """Where the watch takes its facts from; tests give their own.

    ``busy_s`` is the CPU time that all CPUs together have spent since some moment, ``costlabs``
    lists process ids of CostLabs that are not this one's, ``clock`` is monotonic.
    """

    busy_s: Callable[[], float] = field(default=lambda: _busy_s())
    costlabs: Callable[[], Iterable[int]] = field(default=lambda: _SCAN())
    clock: Callable[[], float] = time.monotonic


class Watch:
    """Watches during one pass: ``poll`` as often as convenient, then ``stop`` once."""

    # Below this the ticks of the system's counters (10 ms) make the load a guess.
    LEAST_S = 0.2

    def __init__(self, reader: DeviceReader | None = None, senses: Senses | None = None) -> None:
        self._reader = reader
        self._senses = senses or Senses()
        self._samples: list[Sample] = []
        self._costlabs: set[int] = set()
        self._cost_s = 0.0
        self._start_s = self._senses.clock()
        self._busy_s = self._senses.busy_s()
        self._sampled_s = self._scanned_s = float("-inf")
        self.poll()

    def poll(self) -> None:
        """Take the readings that are due."""
        begin_s, begin_cpu_s = self._senses.clock(), time.thread_time()
        if begin_s - self._scanned_s >= _SCAN_EVERY_S:
            self._scan(begin_s)
        if self._reader is not None and begin_s - self._sampled_s >= _SAMPLE_EVERY_S:
            self._sampled_s = begin_s
            self._samples.append(self._reader.read())
        self._cost_s += time.thread_time() - begin_cpu_s

    def _scan(self, now_s: float) -> None:
        self._scanned_s = now_s
        self._costlabs.update(self._senses.costlabs())

    def stop(self, own_cpu_s: float | None) -> Observation:
        """Read once more and sum up.

        Args:
            own_cpu_s: CPU time of the worker; None if it did not live to tell.
        """
        lasted_s = self._senses.clock() - self._start_s
        others_s = self._senses.busy_s() - self._busy_s - (own_cpu_s or 0.0)
        self._sampled_s = self._scanned_s = float("-inf")
        self.poll()
        known = own_cpu_s is not None and lasted_s >= self.LEAST_S
        return Observation(
            others_cpus=max(others_s, 0.0) / lasted_s if known else None,
            costlabs=tuple(sorted(self._costlabs)),
            samples=tuple(self._samples),
            cost_s=self._cost_s,
        )


def too_busy(observations: Sequence[Observation], cpus: int) -> bool:
    """Whether others kept more than a tenth of ``cpus`` (and of 2 at least) busy in any pass."""
    limit = 0.1 * max(cpus, 2)
    return any(one.others_cpus is not None and one.others_cpus > limit for one in observations)


def _busy_s() -> float:
    times = psutil.cpu_times()
    names = ("user", "nice", "system", "irq", "softirq", "steal")
    return float(sum(getattr(times, name, 0.0) for name in names))


def other_costlabs() -> list[int]:
    """Process ids of measuring CostLabs that this process did not start.

    Only processes that this user may see are found: a container hides those outside it.
    """
    own = os.getpid()
    found = []
    for pid, words in _command_lines():
        if "-m" not in words or not _MODULES.intersection(words):
            continue
        with contextlib.suppress(psutil.Error):
            if own not in {parent.pid for parent in psutil.Process(pid).parents()}:
                found.append(pid)
    return found


class _Scan:
    """What the last look at all processes found, for as long as that holds.

    One pass ends where the next begins, and looking takes milliseconds.
    """

    def __init__(self) -> None:
        self._at_s = float("-inf")
        self._found: list[int] = []

    def __call__(self) -> list[int]:
        if time.monotonic() - self._at_s > _SCAN_HOLDS_S:
            self._found = other_costlabs()
            self._at_s = time.monotonic()
        return self._found


_SCAN: Callable[[], Iterable[int]] = _Scan()


def _command_lines() -> Iterator[tuple[int, list[str]]]:
    """Ids and words of the processes that may be a CostLab."""
    if not _PROC.is_dir():
        for process in psutil.process_iter(["cmdline"]):
            yield process.pid, process.info["cmdline"] or []
        return
    # psutil and pathlib take ten and three times as long, on a CPU that the measurement may need.
    for name in os.listdir(_PROC):
        if not name.isdigit():
            continue
        try:
            with open(f"{_PROC}/{name}/cmdline", "rb", buffering=0) as file:
                text = file.read()
        except OSError:
            continue
        if b"costlab" in text:
            yield int(name), text.decode(errors="replace").split("\0")
