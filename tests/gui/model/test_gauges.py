"""Readings in words and as points."""

from __future__ import annotations

import pytest

from costlab.devices.gpu import GPU_UNITS
from costlab.devices.readings import Reading, Sample, missing
from costlab.devices.reasons import REASONS
from costlab_gui.model.gauges import gauges, nothing, one_line, points, say, top, why_short

GIB = 2**30
GPU = {gauge.key: gauge for gauge in gauges("gpu")}


def sample(**readings: Reading) -> Sample:
    return Sample(0.0, 0.0, "GPU-1", readings)


def powers(values: list[float]) -> list[Sample]:
    """One sample a second."""
    return [
        Sample(float(at), 0.0, "GPU-1", {"power": Reading(value, "W")})
        for at, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("key", "readings", "text", "warn"),
    [
        ("utilisation", {"utilisation": Reading(0.3749, "fraction")}, "37 %", False),
        ("memory_used", {"memory_used": Reading(7.4 * GIB, "B"),
                         "memory_total": Reading(23 * GIB, "B")}, "7.4 of 23 GiB", False),
        ("memory_used", {"memory_used": Reading(512 * 2**20, "B"),
                         "memory_total": Reading(23 * GIB, "B")}, "512 MiB of 23 GiB", False),
        ("power", {"power": Reading(250, "W")}, "250 W", False),
        ("temperature", {"temperature": Reading(41.4, "°C")}, "41 °C", False),
        ("throttle", {"throttle": Reading(0, "bits")}, "none", False),
        ("throttle", {"throttle": Reading(1, "bits")}, "idle", False),
        ("throttle", {"throttle": Reading(0x44, "bits")}, "power cap, too hot (hardware)", True),
    ],
)  # fmt: skip
def test_what_a_gauge_says(key: str, readings: dict[str, Reading], text: str, warn: bool) -> None:
    said = say(GPU[key], sample(**readings))

    assert (said.text, said.warn, said.missing) == (text, warn, False)


def test_what_is_missing_says_why() -> None:
    said = say(GPU["utilisation"], sample(utilisation=missing("fraction", "mig")))

    assert (said.text, said.detail) == ("n/a", REASONS["mig"])
    assert say(GPU["power"], None).missing


def test_one_line_of_a_gpu_leaves_out_what_is_missing() -> None:
    readings = {
        "utilisation": missing("fraction", "mig"),
        "memory_used": Reading(2 * GIB, "B"),
        "memory_total": Reading(80 * GIB, "B"),
        "power": Reading(250, "W"),
        "temperature": Reading(41, "°C"),
    }
    said = one_line(sample(**readings))

    assert said.text.replace("\N{NO-BREAK SPACE}", " ") == "2 of 80 GiB · 250 W · 41 °C"
    assert said.detail == REASONS["mig"]


def test_a_machine_without_a_gpu_is_one_sentence() -> None:
    readings = {name: missing(unit, "no_library") for name, unit in GPU_UNITS.items()}

    assert nothing([sample(**readings)]) == REASONS["no_library"]
    assert why_short([sample(**readings)]) == "no NVIDIA driver"
    assert nothing([sample(**{**readings, "power": Reading(1, "W")})]) == ""
    assert nothing([]) == ""


def test_a_long_history_keeps_its_peaks() -> None:
    samples = powers([90 if at == 4321 else 50 + at % 2 for at in range(9000)])
    samples[5] = Sample(5.0, 0.0, "GPU-1", {"power": missing("W", "timeout")})

    shown = points(GPU["power"], samples)

    assert 60 < len(shown) <= 122
    assert (4321.0, 90) in shown
    assert list(shown) == sorted(shown)
    assert top(GPU["power"], samples, shown) == pytest.approx(90 * 1.25)
    later = points(GPU["power"], samples[1:])
    assert set(later[2:]) <= set(shown), "the curve keeps its shape as it moves on"
    limited = [sample(power=Reading(50, "W"), power_limit=Reading(700, "W"))]
    assert top(GPU["power"], limited, points(GPU["power"], limited)) == 700
