"""When the next run may start, over a made-up trace of temperatures."""

from __future__ import annotations

import math

import pytest

from costlab.devices.readings import Reading, missing
from costlab.devices.thermal import ThermalRules, thermal_decision, warming

UNREADABLE = missing("°C", "not_supported")


def celsius(value: float) -> Reading:
    return Reading(value, "°C")


@pytest.mark.parametrize(
    ("now_c", "since_s", "start_c", "action", "flags"),
    [
        (45, 2, None, "wait", ()),  # the gap is not over
        (45, 6, None, "start", ()),
        (52, 6, 47, "start", ()),
        (53, 6, 47, "wait", ()),
        (53, 121, 47, "start", ("warmer_than_band",)),
        (41, 6, 47, "start", ("colder_than_band",)),
        (41, 2, 47, "wait", ()),
    ],
)
def test_decision(
    now_c: float, since_s: float, start_c: float | None, action: str, flags: tuple[str, ...]
) -> None:
    decision = thermal_decision(celsius(now_c), since_s=since_s, start_c=start_c)

    assert (decision.action, decision.flags) == (action, flags)
    assert decision.temperature.value == now_c


def test_cooling_starts_as_soon_as_the_band_is_reached() -> None:
    """80 °C falls towards 35 °C with 20 s; the band ends at 50 °C after 20·ln(3) = 22 s."""
    for second in range(200):
        now = celsius(35 + 45 * math.exp(-second / 20))
        if thermal_decision(now, since_s=second, start_c=45).action == "start":
            break

    assert second == math.ceil(20 * math.log(3))


def test_an_unreadable_temperature_waits_the_gap_and_is_flagged() -> None:
    rules = ThermalRules(gap_s=7)

    assert thermal_decision(UNREADABLE, since_s=6.9, start_c=40, rules=rules).action == "wait"
    decision = thermal_decision(UNREADABLE, since_s=7, start_c=40, rules=rules)
    assert (decision.action, decision.flags) == ("start", ("temperature_unknown",))
    assert decision.temperature.reason == "not_supported"


def test_warming() -> None:
    assert warming([celsius(41), UNREADABLE, celsius(58)]).value == 17
    assert warming([celsius(41), UNREADABLE]).reason == "not_supported"
    assert warming([celsius(41)]).reason == "too_few_samples"
