"""Decides when a device is cool enough for the next run: a hotter chip leaks more and slows down.

Pure functions over temperatures in °C; the caller waits and asks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from costlab.devices.readings import Reading, missing

START, WAIT = "start", "wait"


@dataclass(frozen=True, slots=True)
class ThermalRules:
    """How runs are kept at one temperature.

    A run starts within ``band_c`` of the temperature at which the first one started. The first
    one, and all where no temperature is readable, start ``gap_s`` after the last run ended.
    After ``most_s`` it starts anyhow, and the row is flagged.
    """

    band_c: float = 5.0
    gap_s: float = 5.0
    most_s: float = 120.0
    version: int = 1


@dataclass(frozen=True, slots=True)
class ThermalDecision:
    """``action`` is "start" or "wait"; ``flags`` go onto the row that starts.

    Flags: "warmer_than_band" and "colder_than_band" (started out of the band),
    "temperature_unknown".
    """

    action: str
    temperature: Reading
    flags: tuple[str, ...] = ()


def thermal_decision(
    temperature: Reading,
    *,
    since_s: float,
    start_c: float | None = None,
    rules: ThermalRules | None = None,
) -> ThermalDecision:
    """Whether the next run may start now.

    Args:
        temperature: of the device, now.
        since_s: time since the last run ended (a large number if there was none).
        start_c: temperature at which the first run of the study started; None for the first.
        rules: limits; the defaults if None.
    """
    rules = rules or ThermalRules()
    if since_s < rules.gap_s:
        return ThermalDecision(WAIT, temperature)
    if temperature.value is None:
        return ThermalDecision(START, temperature, ("temperature_unknown",))
    if start_c is None or abs(temperature.value - start_c) <= rules.band_c:
        return ThermalDecision(START, temperature)
    if temperature.value < start_c:
        # Waiting makes it no warmer; the run's own warm-up does.
        return ThermalDecision(START, temperature, ("colder_than_band",))
    if since_s < rules.most_s:
        return ThermalDecision(WAIT, temperature)
    return ThermalDecision(START, temperature, ("warmer_than_band",))


def warming(temperatures: Sequence[Reading]) -> Reading:
    """Last less first of the temperatures of a run, in °C; missing with the reason of a gap."""
    if len(temperatures) < 2:
        return missing("°C", "too_few_samples")
    first, last = temperatures[0], temperatures[-1]
    for end in (first, last):
        if end.value is None:
            return missing("°C", end.reason, end.text)
    assert first.value is not None and last.value is not None
    return Reading(last.value - first.value, "°C", last.source)
