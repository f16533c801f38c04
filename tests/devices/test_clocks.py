"""Which samples a slow clock discards, and that a row is never left empty."""

from __future__ import annotations

import json
import random

import pytest

from costlab.devices.clocks import ClockRules, judge_clocks, judge_sample, throttle_reasons
from costlab.devices.readings import Reading, Sample, missing
from tests.devices.traces import clock_sample

FULL = Reading(1980e6, "Hz", "max")


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0, ()),
        (0x1, ("gpu_idle",)),
        (0x4, ("power_cap",)),
        (0x8 | 0x40, ("hardware_slowdown", "hardware_thermal")),
        (0x20 | 0x80, ("software_thermal", "power_brake")),
        (0x100 | 0x1000, ("display_clocks", "unknown_0x1000")),
    ],
)
def test_throttle_bits_are_named(bits: int, names: tuple[str, ...]) -> None:
    assert throttle_reasons(bits) == names


@pytest.mark.parametrize(
    ("mhz", "bits", "verdict"),
    [
        (1980, 0, "steady"),
        (1485, 0, "steady"),  # three quarters exactly
        (1484, 0, "clock_low"),
        (1980, 0x40, "throttled"),
        (1980, 0x4, "steady"),  # a chip at its power cap is not broken
        (None, 0x20, "throttled"),
        (None, 0, "unknown"),
        (1980, None, "steady"),
    ],
)
def test_one_sample(mhz: float | None, bits: int | None, verdict: str) -> None:
    assert judge_sample(clock_sample(mhz, bits), FULL).verdict == verdict


def test_a_clock_ramp_discards_the_slow_start() -> None:
    ramp = [clock_sample(mhz) for mhz in (345, 900, 1400, 1800, 1980, 1980, 1965, 1980)]

    judged = judge_clocks(ramp, FULL)

    assert judged.discarded == (0, 1, 2)
    assert judged.kept == (3, 4, 5, 6, 7)
    assert judged.flags == ("samples_discarded",)
    assert judged.verdicts[0].clock == Reading(345e6, "Hz")


def test_a_device_that_is_always_slow_keeps_its_row() -> None:
    judged = judge_clocks([clock_sample(600)] * 7, FULL)

    assert judged.kept == tuple(range(7))
    assert judged.discarded == ()
    assert judged.flags == ("throttled_throughout",)


def test_no_rule_can_empty_a_row(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        samples: list[Sample | None] = [
            draw.choice([None, clock_sample(None), clock_sample(draw.uniform(100, 2000)),
                         clock_sample(1980, draw.choice([0, 4, 8, 0x40]))])
            for _ in range(draw.randint(1, 9))
        ]  # fmt: skip
        rules = ClockRules(
            least_fraction=draw.uniform(0, 2), most_discarded=draw.choice([0.0, 0.5, 1.0])
        )

        judged = judge_clocks(samples, draw.choice([FULL, missing("Hz", "gpu_lost")]), rules)

        assert judged.kept
        assert sorted(judged.kept + judged.discarded) == list(range(len(samples)))


def test_unreadable_clocks_are_flagged_and_kept() -> None:
    judged = judge_clocks([clock_sample(None, None, "mig"), None], FULL)

    assert judged.kept == (0, 1)
    assert judged.flags == ("clock_unknown",)
    assert judged.verdicts[0].clock.reason == "mig"


def test_power_cap_is_flagged() -> None:
    assert judge_clocks([clock_sample(1700, 4)], FULL).flags == ("power_capped",)


def test_no_samples() -> None:
    assert judge_clocks([], FULL).kept == ()


def test_a_judgement_is_plain_data() -> None:
    data = json.loads(json.dumps(judge_clocks([clock_sample(1980, 1)], FULL).to_json()))

    assert data["verdicts"] == [
        {"verdict": "steady", "clock": {"value": 1980e6, "unit": "Hz"}, "throttle": ["gpu_idle"]}
    ]
