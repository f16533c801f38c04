"""A reading is a value or a reason, never both and never neither."""

from __future__ import annotations

import json
import math

import pytest

from costlab.devices.readers import NullReader, ReplayReader, TraceEnded, partial_query, take
from costlab.devices.readings import Reading, Sample, missing
from costlab.devices.reasons import REASONS, nvml_reason, text_of


@pytest.mark.parametrize(
    ("value", "reason"), [(None, ""), (0.0, "not_supported"), (math.nan, ""), (math.inf, "")]
)
def test_neither_both_and_no_number_are_refused(value: float | None, reason: str) -> None:
    with pytest.raises(ValueError, match="reading"):
        Reading(value, "W", reason=reason)


def test_a_missing_reading_says_why_and_is_not_zero() -> None:
    reading = missing("W", "mig_whole_card")

    assert reading.value is None
    assert reading.text == REASONS["mig_whole_card"]
    assert missing("W", "mig_whole_card", "own words").text == "own words"


@pytest.mark.parametrize(
    "reading", [Reading(0.0, "W", "field 186"), missing("J", "gpu_lost"), Reading(3, "")]
)
def test_readings_survive_json(reading: Reading) -> None:
    sample = Sample(1.5, 0.01, "cpu", {"one": reading})

    assert Sample.from_json(json.loads(json.dumps(sample.to_json()))) == sample
    assert "value" in reading.to_json()


def test_what_a_device_does_not_have_is_missing() -> None:
    assert Sample(0, 0, "cpu", {}).get("sm_clock", "Hz") == missing("Hz", "not_read")


def test_reasons_are_single_lines_of_help() -> None:
    for code, line in REASONS.items():
        assert code.replace("_", "").isalnum()
        assert "\n" not in line
        assert len(line) < 100
    assert text_of("no such code") == "no such code"
    assert nvml_reason(12345) == "unknown_error"


def test_a_sample_is_stamped_with_its_begin_and_cost() -> None:
    ticks = iter([10.0, 10.25])

    sample = take("x", {"a": lambda: Reading(1, "W")}, lambda: next(ticks))

    assert (sample.time_s, sample.cost_s) == (10.0, 0.25)


def test_null_reader_has_every_reading_missing() -> None:
    reader = NullReader("gpu", {"power": "W", "energy": "J"}, "no_driver")

    readings = reader.read().readings

    assert readings == {"power": missing("W", "no_driver"), "energy": missing("J", "no_driver")}
    assert (reader.id, reader.name, reader.kind) == ("gpu", "GPU", "gpu")
    assert partial_query(reader, "energy") == reader.read
    reader.close()


def test_replay_plays_the_samples_of_its_device_and_ends() -> None:
    trace = [Sample(t, 0.0, device, {}) for t, device in ((1, "a"), (2, "b"), (3, "a"))]
    reader = ReplayReader(trace, id="a", name="A", kind="gpu")

    assert [reader.read().time_s, reader.read().time_s] == [1, 3]
    with pytest.raises(TraceEnded):
        reader.read()
    reader.close()
