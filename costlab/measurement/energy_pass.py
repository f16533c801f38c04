"""The energy of one call: windows of several seconds full of calls, read from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from costlab.devices.energy import EnergyRules, energy_window
from costlab.devices.readers import DeviceReader
from costlab.devices.readings import Reading
from costlab.devices.sampler import Sampler
from costlab.measurement.process import Outcome
from costlab.measurement.statistics import median

WINDOWS = 3
_PERIOD_S = 0.02
# The window is cut to whole steps of the counter, so the calls go on for a little longer.
WINDOW_S = EnergyRules().least_s + 0.5


@dataclass(frozen=True, slots=True)
class EnergyResult:
    """Energy of one call in J and its mean power in W; None with a reason."""

    energy_j: float | None
    power_w: float | None
    reason: str = ""
    flags: tuple[str, ...] = ()
    windows: tuple[Mapping[str, Any], ...] = field(default=())


def unreadable(reader: DeviceReader) -> str:
    """Why ``reader`` can tell no energy; "" if it can."""
    sample = reader.read()
    energy, power = sample.get("energy", "J"), sample.get("power", "W")
    # The first power of some readers is that since the last reading.
    readable = energy.value is not None or power.value is not None
    return "" if readable or power.reason == "first_reading" else _text(energy)


def measure_energy(run_pass: Callable[[], Outcome], reader: DeviceReader) -> EnergyResult:
    """Run the energy pass ``WINDOWS`` times, each read by a sampler, and take the median.

    Args:
        run_pass: runs one energy pass of ``WINDOW_S``; its message says how many calls it made
            between which moments of :func:`time.monotonic`.
        reader: of the device.
    """
    joules: list[float] = []
    watts: list[float] = []
    raw: list[Mapping[str, Any]] = []
    flags: set[str] = set()
    reason = ""
    for _number in range(WINDOWS):
        with Sampler([reader.read], period_s=_PERIOD_S) as sampler:
            outcome = run_pass()
        if outcome.status != "ok":
            return EnergyResult(None, None, f"{outcome.status}: {outcome.reason}")
        start_s, end_s = outcome.message["start_s"], outcome.message["end_s"]
        window = energy_window([
            sample for sample in sampler.samples
            if start_s <= sample.time_s and sample.time_s + sample.cost_s <= end_s
        ])  # fmt: skip
        raw.append({**window.to_json(), "calls": outcome.message["calls"]})
        flags.update(window.flags)
        power = window.mean_power
        if power.value is None:
            reason = _text(power)
            continue
        watts.append(power.value)
        joules.append(power.value * (end_s - start_s) / outcome.message["calls"])
    if not joules:
        return EnergyResult(None, None, reason, windows=tuple(raw))
    return EnergyResult(median(joules), median(watts), "", tuple(sorted(flags)), tuple(raw))


def _text(reading: Reading) -> str:
    return reading.text or reading.reason
