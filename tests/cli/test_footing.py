"""What answers over varying sizes rest on, as data and as text."""

from __future__ import annotations

from typing import Any

from costlab.cli.footing import footing, footing_text
from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import Machine
from tests.prediction.programs import attention, recurrence


def test_the_other_sizes_with_defaults_are_named_once() -> None:
    programs = [recurrence(), attention()]

    found = footing(programs, {"b": 3, "d": 40}, ("n",), None)

    assert found["sizes"] == {
        "recurrence": {"b": 3, "d": 40},
        "attention": {"b": 3, "d": 40, "h": 4},
    }
    assert found["device"] is None
    assert footing_text(found) == "- with b=3 d=40 h=4"


def test_bounds_are_named_as_such() -> None:
    machine = Machine.from_profile(load_profile("L4"), "float32")

    text = footing_text(footing([attention()], {"b": 3, "d": 40}, ("n",), machine))

    assert "time on L4, datasheet bound" in text
    for assumption in machine.assumptions:
        assert f"\n- {assumption}" in text


def test_programs_with_other_defaults_are_told_apart() -> None:
    found: dict[str, Any] = {
        "sizes": {"one": {"b": 1, "d": 8}, "two": {"b": 2}}, "device": None, "assumptions": []
    }  # fmt: skip

    assert footing_text(found) == "- with one: b=1 d=8\n- with two: b=2"
