"""The quickest probe outlives the process that saw it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from costlab.measurement import known_quickest
from costlab.measurement.known_quickest import known_quickest_s


@pytest.fixture(autouse=True)
def surveyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_quickest, "survey_s", lambda: 15e-6)


def test_an_earlier_quicker_probe_is_used() -> None:
    assert known_quickest_s() == 15e-6

    known_quickest_s(10e-6)
    known_quickest_s(12e-6)
    known_quickest_s(None)

    assert known_quickest_s() == 10e-6


@pytest.mark.parametrize(
    "change", [{"environment": "another"}, {"at_s": 0.0}, {"at_s": 1e12}, {"probe_s": "ten"}, None]
)
def test_what_is_old_or_of_another_machine_or_broken_is_passed_over(
    costlab_home: Path, change: dict[str, object] | None
) -> None:
    known_quickest_s(10e-6)
    path = costlab_home / "quickest_probe.json"
    kept = json.loads(path.read_text())
    path.write_text("{" if change is None else json.dumps({**kept, **change}))

    assert known_quickest_s() == 15e-6
    assert json.loads(path.read_text())["probe_s"] == 15e-6


def test_a_folder_that_cannot_be_written_costs_only_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a file"
    file.touch()
    monkeypatch.setenv("COSTLAB_HOME", str(file))

    assert known_quickest_s() == 15e-6
