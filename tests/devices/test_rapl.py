"""CPU energy from a made-up powercap tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from costlab.devices.rapl import Rapl

LIMIT = 262_143_328_850


def zone(root: Path, folder: str, name: str, microjoules: int) -> Path:
    path = root / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / "name").write_text(name + "\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    (path / "max_energy_range_uj").write_text(f"{LIMIT}\n")
    return path / "energy_uj"


def test_packages_are_added_and_what_lies_in_or_around_them_is_not(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    second = zone(tmp_path, "intel-rapl:1", "package-1", 7_000_000)
    core = zone(tmp_path, "intel-rapl:0:0", "core", 1)
    whole = zone(tmp_path, "intel-rapl:2", "psys", 1)
    again = zone(tmp_path, "intel-rapl-mmio:0", "package-0", 5_000_000)
    rapl = Rapl(tmp_path)

    assert rapl.read().value == 0
    for path, gained in ((first, 2e6), (second, 500_000), (core, 9e9), (whole, 9e9), (again, 9e9)):
        path.write_text(str(int(path.read_text()) + int(gained)))

    assert rapl.read().value == pytest.approx(2.5)
    assert rapl.read().source == "powercap package-0, package-1"


def test_a_wrapped_counter_goes_on(tmp_path: Path) -> None:
    counter = zone(tmp_path, "intel-rapl:0", "package-0", LIMIT - 999_999)
    rapl = Rapl(tmp_path)
    counter.write_text("1500000")

    assert rapl.read().value == pytest.approx(2.5)
    counter.write_text("2500000")
    assert rapl.read().value == pytest.approx(3.5)


def test_a_pause_that_may_hide_a_turn_is_refused(tmp_path: Path) -> None:
    now = [0.0]
    counter = zone(tmp_path, "intel-rapl:0", "package-0", 7_000_000)
    rapl = Rapl(tmp_path, lambda: now[0])
    now[0] = 900
    counter.write_text("6000000")

    assert rapl.read().reason == "counter_reset"


@pytest.mark.parametrize(("made", "reason"), [(False, "no_powercap"), (True, "powercap_masked")])
def test_no_counter_says_why(tmp_path: Path, made: bool, reason: str) -> None:
    root = tmp_path / "powercap"
    if made:
        root.mkdir()

    reading = Rapl(root).read()

    assert (reading.value, reading.reason) == (None, reason)


@pytest.mark.parametrize(
    ("error", "reason"), [(PermissionError, "powercap_root"), (OSError, "unreadable")]
)
def test_an_unreadable_counter_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError], reason: str
) -> None:
    """As root every file is readable, so the refusal is made up."""
    zone(tmp_path, "intel-rapl:0", "package-0", 5)
    read_text = Path.read_text

    def refuse(path: Path, *args: str, **options: str) -> str:
        if path.name == "energy_uj":
            raise error
        return read_text(path, *args, **options)

    monkeypatch.setattr(Path, "read_text", refuse)

    assert Rapl(tmp_path).read().reason == reason


def test_a_counter_that_vanishes_stays_missing(tmp_path: Path) -> None:
    counter = zone(tmp_path, "intel-rapl:0", "package-0", 5)
    rapl = Rapl(tmp_path)
    os.unlink(counter)

    assert rapl.read().reason == "unreadable"
    counter.write_text("7000000")
    assert rapl.read().value is None
