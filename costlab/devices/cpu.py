"""Reads the processor, and the share of it that this process and its control group have."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from costlab.devices.limits import cgroup_limits
from costlab.devices.processor import cpu_model
from costlab.devices.rapl import POWERCAP, Rapl
from costlab.devices.readers import take
from costlab.devices.readings import Reading, Sample, missing

CPU_UNITS: Mapping[str, str] = {
    "energy": "J",
    "power": "W",
    "utilisation": "fraction",
    "load": "CPU",
    "process_cpu": "CPU",
    "frequency": "Hz",
    "temperature": "°C",
    "memory_used": "B",
    "memory_total": "B",
    "process_memory": "B",
    "affinity": "CPU",
    "cpu_limit": "CPU",
    "memory_limit": "B",
}
"""Unit of every reading of the CPU.

``energy`` counts since the reader was made, ``power`` is the mean since the last reading, as are
``utilisation`` (of all CPUs) and ``process_cpu`` (1 is one CPU kept busy by the process).
"""

# Names of the chips that report the processor's own temperature (Linux, hwmon).
_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal")


class CpuReader:
    """Reads the CPU; ``pid`` is the process that "process_cpu" and "process_memory" are of."""

    id = "cpu"
    kind = "cpu"

    def __init__(
        self,
        pid: int | None = None,
        powercap: Path = POWERCAP,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = cpu_model()
        self._clock = clock
        self._process = psutil.Process(pid)
        self._rapl = Rapl(powercap, clock)
        self._limits = cgroup_limits()
        self._busy: tuple[float, float] | None = None
        self._used: tuple[float, float] | None = None
        self._joules: tuple[float, float] | None = None

    def read(self) -> Sample:
        """Take every reading."""
        energy = self._rapl.read()
        return take(
            self.id,
            {
                "energy": lambda: energy,
                "power": lambda: self._power(energy),
                "utilisation": self._utilisation,
                "load": _load,
                "process_cpu": self._process_cpu,
                "frequency": _frequency,
                "temperature": _temperature,
                "memory_used": lambda: _memory("used"),
                "memory_total": lambda: _memory("total"),
                "process_memory": self._process_memory,
                "affinity": self._affinity,
                "cpu_limit": lambda: self._limit(self._limits.cpus, "CPU"),
                "memory_limit": lambda: self._limit(self._limits.memory_bytes, "B"),
            },
            self._clock,
        )

    def read_energy(self) -> Sample:
        """Energy and power alone: cheap enough to be asked every few milliseconds."""
        energy = self._rapl.read()
        queries = {"energy": lambda: energy, "power": lambda: self._power(energy)}
        return take(self.id, queries, self._clock)

    def read_memory(self) -> Sample:
        """Memory alone, for while something else is measured."""
        queries = {
            "memory_used": lambda: _memory("used"),
            "memory_total": lambda: _memory("total"),
        }
        return take(self.id, queries, self._clock)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _power(self, energy: Reading) -> Reading:
        if energy.value is None:
            return missing("W", energy.reason, energy.text)
        now = (self._clock(), energy.value)
        before, self._joules = self._joules, now
        if before is None or now[0] <= before[0]:
            return missing("W", "first_reading")
        watts = (now[1] - before[1]) / (now[0] - before[0])
        return Reading(watts, "W", f"{energy.source}, mean since the last reading")

    def _utilisation(self) -> Reading:
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        # Guests are counted in user time already.
        total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        before, self._busy = self._busy, (total - idle, total)
        if before is None or total <= before[1]:
            return missing("fraction", "first_reading")
        busy = (total - idle - before[0]) / (total - before[1])
        return Reading(min(max(busy, 0.0), 1.0), "fraction", "time of all CPUs")

    def _process_cpu(self) -> Reading:
        try:
            times = self._process.cpu_times()
        except psutil.Error as error:
            return missing("CPU", "not_found", _words(error))
        now = (self._clock(), times.user + times.system)
        before, self._used = self._used, now
        if before is None or now[0] <= before[0]:
            return missing("CPU", "first_reading")
        return Reading((now[1] - before[1]) / (now[0] - before[0]), "CPU", "time of the process")

    def _process_memory(self) -> Reading:
        try:
            return Reading(self._process.memory_info().rss, "B", "resident")
        except psutil.Error as error:
            return missing("B", "not_found", _words(error))

    def _affinity(self) -> Reading:
        query: Any = getattr(self._process, "cpu_affinity", None)
        if query is None:
            return missing("CPU", "not_on_system")
        try:
            return Reading(len(query()), "CPU", "affinity of the process")
        except psutil.Error as error:
            return missing("CPU", "not_found", _words(error))

    def _limit(self, value: float | None, unit: str) -> Reading:
        if value is not None:
            return Reading(value, unit, "control group")
        return missing(unit, "no_control_groups" if self._limits.reason else "no_limit")


def _load() -> Reading:
    if not hasattr(os, "getloadavg"):
        return missing("CPU", "not_on_system")
    try:
        return Reading(os.getloadavg()[0], "CPU", "load average of 1 min")
    except OSError as error:
        return missing("CPU", "unreadable", _words(error))


def _frequency() -> Reading:
    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError, RuntimeError) as error:
        return missing("Hz", "unreadable", _words(error))
    if frequency is None or not frequency.current:
        return missing("Hz", "no_sensor")
    return Reading(frequency.current * 1e6, "Hz", "mean of all CPUs")


def _temperature() -> Reading:
    query: Any = getattr(psutil, "sensors_temperatures", None)
    if query is None:
        return missing("°C", "not_on_system")
    try:
        chips = query()
    except (OSError, ValueError) as error:
        return missing("°C", "unreadable", _words(error))
    for chip in _SENSORS:
        currents = [entry.current for entry in chips.get(chip, ()) if entry.current]
        if currents:
            return Reading(max(currents), "°C", f"{chip}, hottest")
    return missing("°C", "no_sensor")


def _memory(field: str) -> Reading:
    memory = psutil.virtual_memory()
    used = memory.total - memory.available
    return Reading(memory.total if field == "total" else used, "B", "system")


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
