"""The machine a prediction is made for: rates, overheads, and how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

from costlab.errors import InputError
from costlab.hardware.calibration_record import CalibrationRecord, Residual
from costlab.hardware.profile import DeviceProfile
from costlab.hardware.rates import CalibratedRates, DatasheetRates, Rates
from costlab.hardware.student import student_quantile
from costlab.i18n import _

CALIBRATED = "calibrated"
DATASHEET = "datasheet bound"
Spread = tuple[float, float]
_PASS = "pass"
_ENOUGH_PASSES = 3
_ENOUGH = 5  # residuals of one kind before it gets an interval of its own
_LEVEL = 0.9
_RANGE_OF_THREE = 1.693  # expected range of three normal values, in standard deviations


@dataclass(frozen=True, slots=True)
class Machine:
    """Rates and overheads of one device at one dtype and thread count.

    Attributes:
        basis: "calibrated" or "datasheet bound" (then every time is a lower bound).
        launch_s: cost of an empty call by phase ("forward", "train_forward", "backward"), with
            "loop_" or "fused_" before it for calls of a loop over steps.
        step_s: what a call costs more when it waits for the result of the one before.
        spread: measured over predicted time, (low, high), by kind; "" is for all others.
        width: how many hands work at once: threads of a CPU, multiprocessors of a GPU.
        capacity_bytes: memory; None where unknown.
        cold_share: share of its bytes that a call finds where the whole program's bytes lie.
        program_factor: what the work of a short call takes in a program, over what it takes alone.
        warming_s: how long a call is alone that pays half of that: the caches and predictors that
            a call finds filled with others' work are its own after some time.
    """

    name: str
    title: str
    backend: str
    dtype: str
    threads: int
    basis: str
    rates: Rates
    launch_s: Mapping[str, float]
    step_s: float
    width: int
    spread: Mapping[str, Spread] = field(default_factory=dict)
    capacity_bytes: float | None = None
    assumptions: tuple[str, ...] = ()
    cold_share: float = 0.0
    program_factor: float = 1.0
    warming_s: float = math.inf

    @classmethod
    def from_calibration(cls, record: CalibrationRecord) -> Machine:
        """The machine that ``record`` measured."""
        environment = record.environment
        cuda = record.device.startswith("cuda")
        memory = min(
            environment.memory_bytes, environment.cgroup_memory_bytes or environment.memory_bytes
        )
        return cls(
            name=record.device,
            title=environment.cpu if not cuda else record.device,
            backend="cuda" if cuda else "cpu",
            dtype=record.dtype,
            threads=record.threads,
            basis=CALIBRATED,
            rates=CalibratedRates(record),
            launch_s=record.launch_s,
            step_s=record.step_s,
            width=record.threads,
            spread=spread_from_residuals(record.residuals, record.spread),
            capacity_bytes=None if cuda else float(memory),
            cold_share=record.cold_share,
            program_factor=record.program_factor,
            warming_s=record.warming_s,
            assumptions=(
                _("rates measured on {date}, level {level}, {threads} thread(s)").format(
                    date=record.date[:10], level=record.level, threads=record.threads
                ),
                _("memory that is freed stays with the process, and the next call finds it"),
            ),
        )

    @classmethod
    def from_profile(cls, profile: DeviceProfile, dtype: str = "float32") -> Machine:
        """The device of ``profile`` at its published peaks: a bound, never reached.

        Raises:
            InputError: if no formulas are derived for what runs on it.
        """
        if profile.backend not in ("cpu", "cuda"):
            raise InputError(
                _("no operator formulas for this device: it is known for planning only"),
                given=profile.name,
                advice=_("name a CPU or a GPU with --device"),
            )
        units = int(profile.units.value)
        return cls(
            name=profile.name,
            title=profile.title,
            backend=profile.backend,
            dtype=dtype,
            threads=units if profile.kind == "cpu" else 1,
            basis=DATASHEET,
            rates=DatasheetRates(profile, dtype),
            launch_s={},
            step_s=0.0,
            width=units,
            capacity_bytes=None if profile.capacity is None else profile.capacity.value,
            assumptions=(
                _("published peaks, no launch cost: the real time is longer"),
                *profile.notes,
            ),
        )

    def launch(self, phase: str, mode: str, style: str = "") -> float:
        """Seconds that an empty call costs in ``phase`` of a run in ``mode``.

        Args:
            phase: "forward" or "backward".
            mode: "train" records its forward phase.
            style: "", "loop_" or "fused_", see ``calibration_record.STYLES``.
        """
        if phase == "forward" and mode == "train":
            phase = "train_forward"
        for key in (style + phase, phase, style + "forward", "forward"):
            if key in self.launch_s:
                return self.launch_s[key]
        return 0.0

    @property
    def weighs_footprint(self) -> bool:
        """Whether a call's time depends on how many bytes the whole program uses."""
        return bool(self.cold_share) or bool(self.rates.unaligned_s(math.inf))

    def in_program(self, alone_s: Any) -> Any:
        """Seconds in a program of work that takes ``alone_s`` in a call repeated alone."""
        if self.program_factor == 1.0:
            return alone_s
        return alone_s * (1 + (self.program_factor - 1) / (1 + alone_s / self.warming_s))

    def has_shapes(self, kind: str) -> bool:
        """Whether arithmetic of ``kind`` has rates that depend on the shape."""
        return self.rates.has_shapes(kind)

    def spread_of(self, kind: str) -> Spread:
        """Measured over predicted time of ``kind``, (low, high)."""
        return self.spread.get(kind) or self.spread.get("", (1.0, 1.0))


def spread_from_residuals(residuals: Sequence[Residual], noise: float = 0.0) -> dict[str, Spread]:
    """90 % intervals of measured over predicted time, from residuals of a calibration.

    Whole passes that were held out speak best for whole programs: from three of them on, they
    alone give the interval, under "". Otherwise "" holds the interval over all operators, and a
    kind with at least five residuals has one of its own.

    Args:
        residuals: held-out cases; the name of a whole pass is "pass".
        noise: relative spread between rounds of the same timing, which widens every interval: a
            run later on meets the machine in another state.
    """
    ratios: dict[str, list[float]] = {}
    for residual in residuals:
        kind = residual.name.partition("_")[0]
        ratio = math.log(residual.measured_s / residual.predicted_s)
        ratios.setdefault(kind, []).append(ratio)
    passes = ratios.pop(_PASS, [])
    if len(passes) >= _ENOUGH_PASSES:
        return {"": _interval(passes, noise)}
    everything = [ratio for values in ratios.values() for ratio in values] + passes
    if not everything:
        return {}
    own = {kind: values for kind, values in ratios.items() if len(values) >= _ENOUGH}
    return {kind: _interval(values, noise) for kind, values in {"": everything, **own}.items()}


def _interval(ratios: list[float], noise: float) -> Spread:
    """Where the next ratio lies, taking their logarithms as normal; it always contains 1."""
    count = len(ratios)
    middle = mean(ratios)
    if count == 1:
        # One value alone says how far off it was, in either direction.
        half = abs(middle) + math.log1p(noise)
    else:
        deviation = math.hypot(
            stdev(ratios) * math.sqrt(1 + 1 / count), math.log1p(noise) / _RANGE_OF_THREE
        )
        half = student_quantile(count - 1, _LEVEL) * deviation
    return (math.exp(min(middle - half, 0.0)), math.exp(max(middle + half, 0.0)))
