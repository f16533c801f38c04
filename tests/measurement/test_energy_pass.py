"""Energy of a call from fake devices whose power is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from costlab.devices.readers import NullReader
from costlab.devices.readings import Reading, Sample, missing
from costlab.measurement import energy_pass
from costlab.measurement.energy_pass import measure_energy, unreadable
from costlab.measurement.process import Outcome

_WATTS = 80.0


class CountingReader:
    """A counter that steps every 100 ms at a constant power, on a clock of its own."""

    id = name = "gpu"
    kind = "gpu"

    def __init__(self, watts: float = _WATTS) -> None:
        self._watts = watts
        self._ticks = itertools.count()

    def read(self) -> Sample:
        time_s = next(self._ticks) * 0.02
        steps = int(time_s / 0.1 + 1e-9)
        return Sample(time_s, 0.0, "gpu", {
            "energy": Reading(self._watts * steps * 0.1, "J"), "power": Reading(self._watts, "W"),
        })  # fmt: skip

    def close(self) -> None:
        """Do nothing."""


class StepSampler:
    """Reads 400 times in place of sampling by the clock: 8 s of the reader's time."""

    def __init__(self, reads: Sequence[Callable[[], Sample]], *, period_s: float) -> None:
        self._reads = reads

    def __enter__(self) -> StepSampler:
        self.samples = tuple(read() for _ in range(400) for read in self._reads)
        return self

    def __exit__(self, *_error: object) -> None:
        """Do nothing."""


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy_pass, "Sampler", StepSampler)


def _pass(reader: CountingReader) -> Outcome:
    """1000 calls in the last 6 s of the reader's time."""
    end_s = reader.read().time_s
    return Outcome("ok", {"start_s": end_s - 6.0, "end_s": end_s, "calls": 1000})


def test_energy_of_a_call_is_power_times_its_time() -> None:
    reader = CountingReader()

    result = measure_energy(lambda: _pass(reader), reader)

    assert result.power_w == pytest.approx(_WATTS, rel=0.03)
    assert result.energy_j == pytest.approx(_WATTS * 6.0 / 1000, rel=0.03)
    assert len(result.windows) == 3
    assert all(window["counter"]["value"] for window in result.windows)


def test_a_failed_pass_is_a_reason_and_no_zero() -> None:
    result = measure_energy(lambda: Outcome("oom", reason="too much"), CountingReader())

    assert (result.energy_j, result.power_w) == (None, None)
    assert result.reason == "oom: too much"


def test_a_window_too_short_is_a_reason_and_no_zero() -> None:
    reader = CountingReader()
    short = Outcome("ok", {"start_s": 0.0, "end_s": 1.0, "calls": 10})

    result = measure_energy(lambda: short, reader)

    assert result.energy_j is None
    assert result.reason


def test_a_device_without_a_counter_says_why() -> None:
    assert unreadable(NullReader("gpu", {"energy": "J"}, "no_driver")).startswith("the NVIDIA")
    assert unreadable(CountingReader()) == ""


def test_power_alone_is_enough_and_its_first_reading_may_be_missing() -> None:
    class Meter(CountingReader):
        def read(self) -> Sample:
            return Sample(0.0, 0.0, "cpu", {
                "energy": missing("J", "no_powercap"), "power": missing("W", "first_reading"),
            })  # fmt: skip

    assert unreadable(Meter()) == ""
