"""Doctor's noise line on made-up machines, and once through the real machinery."""

from __future__ import annotations

import pytest

from costlab.cli.doctor import Check
from costlab.cli.doctor_noise import noise_check
from costlab.errors import MeasurementError
from costlab.measurement.noise import NoiseFloor


def check(spread: float, *flags: str) -> Check:
    work = (2e-3, 2e-3 * (1 - spread / 2), 2e-3 * (1 + spread / 2), 2e-3, 2e-3)
    return noise_check(lambda: NoiseFloor(work, spread, 4e-7, flags))


def test_a_quiet_machine_passes_with_its_figures() -> None:
    found = check(0.03)

    assert (found.verdict, found.fix) == ("PASS", "")
    assert found.found == (
        "3 % between 5 processes of 2 ms of fixed work; an empty call takes 400 ns"
    )


@pytest.mark.parametrize(
    ("spread", "flags"), [(0.4, ()), (0.02, ("interference",))], ids=["spread", "shared"]
)
def test_a_loud_one_is_warned_of(spread: float, flags: tuple[str, ...]) -> None:
    found = check(spread, *flags)

    assert found.verdict == "WARN"
    assert "--budget" in found.fix


def test_a_machine_that_cannot_measure_fails_in_one_line() -> None:
    def broken() -> NoiseFloor:
        raise MeasurementError("it broke", given="crash")

    found = noise_check(broken)

    assert found.verdict == "FAIL"
    assert "it broke" in found.found and "\n" not in found.found
