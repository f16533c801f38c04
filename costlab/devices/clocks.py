"""Judges timed samples by the device's clock: which were throttled, and which therefore go.

The rule can never empty a row: where most samples would go, all stay and the row is flagged,
since a device that is always slow is what the user has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from costlab.devices.readings import Reading, Sample, missing

THROTTLE_REASONS: dict[int, str] = {
    0x001: "gpu_idle",
    0x002: "applications_clocks",
    0x004: "power_cap",
    0x008: "hardware_slowdown",
    0x010: "sync_boost",
    0x020: "software_thermal",
    0x040: "hardware_thermal",
    0x080: "power_brake",
    0x100: "display_clocks",
}
"""Bits of nvmlClocksEventReasons (nvml.h)."""


@dataclass(frozen=True, slots=True)
class ClockRules:
    """When a sample goes: a clock under ``least_fraction`` of the reference, or a reason in
    ``refused``. If more than ``most_discarded`` of all would go, none does.

    The power cap is no reason by itself: large chips sit at it under full load.
    """

    least_fraction: float = 0.75
    most_discarded: float = 0.5
    refused: tuple[str, ...] = (
        "hardware_slowdown", "software_thermal", "hardware_thermal", "power_brake"
    )  # fmt: skip
    version: int = 1


@dataclass(frozen=True, slots=True)
class ClockVerdict:
    """What the clock says of one sample.

    ``verdict`` is "steady", "clock_low", "throttled" or "unknown"; the clock is in Hz.
    """

    verdict: str
    clock: Reading
    throttle: tuple[str, ...]

    @property
    def doubtful(self) -> bool:
        """Whether the sample would go."""
        return self.verdict in ("clock_low", "throttled")


@dataclass(frozen=True, slots=True)
class ClockJudgement:
    """Indices that stay and go, a verdict for each sample, and flags on the whole row.

    Flags: "throttled_throughout" (too many would have gone, so all stayed), "samples_discarded",
    "clock_unknown" (no sample had a readable clock), "power_capped".
    """

    verdicts: tuple[ClockVerdict, ...]
    kept: tuple[int, ...]
    discarded: tuple[int, ...]
    flags: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "verdicts": [
                {"verdict": one.verdict, "clock": one.clock.to_json(), "throttle": one.throttle}
                for one in self.verdicts
            ],
            "kept": self.kept,
            "discarded": self.discarded,
            "flags": self.flags,
        }


def throttle_reasons(bits: int) -> tuple[str, ...]:
    """Names of the reasons set in ``bits``; unknown bits are named by their value."""
    names = [name for bit, name in THROTTLE_REASONS.items() if bits & bit]
    unknown = bits & ~sum(THROTTLE_REASONS)
    return tuple(names + ([f"unknown_{unknown:#x}"] if unknown else []))


def judge_sample(
    sample: Sample | None, reference: Reading, rules: ClockRules | None = None
) -> ClockVerdict:
    """Judge the clock during one timed sample.

    Args:
        sample: device readings taken during or right after it ("sm_clock" in Hz, "throttle"
            bits); None if there are none.
        reference: the clock at full speed, in Hz ("sm_clock_max", or one seen when cool).
        rules: limits; the defaults if None.
    """
    rules = rules or ClockRules()
    if sample is None:
        return ClockVerdict("unknown", missing("Hz", "not_read"), ())
    clock, throttle = sample.get("sm_clock", "Hz"), sample.get("throttle", "bits")
    reasons = throttle_reasons(int(throttle.value)) if throttle.value is not None else ()
    if set(reasons) & set(rules.refused):
        return ClockVerdict("throttled", clock, reasons)
    if clock.value is None or reference.value is None:
        return ClockVerdict("unknown", clock, reasons)
    low = clock.value < rules.least_fraction * reference.value
    return ClockVerdict("clock_low" if low else "steady", clock, reasons)


def judge_clocks(
    samples: Sequence[Sample | None], reference: Reading, rules: ClockRules | None = None
) -> ClockJudgement:
    """Judge all samples of a row; ``kept`` is empty only if ``samples`` is."""
    rules = rules or ClockRules()
    verdicts = tuple(judge_sample(sample, reference, rules) for sample in samples)
    doubtful = tuple(index for index, one in enumerate(verdicts) if one.doubtful)
    flags = []
    if len(doubtful) > rules.most_discarded * len(verdicts) or len(doubtful) == len(verdicts):
        if doubtful:
            flags.append("throttled_throughout")
        doubtful = ()
    elif doubtful:
        flags.append("samples_discarded")
    if verdicts and all(one.verdict == "unknown" for one in verdicts):
        flags.append("clock_unknown")
    if any("power_cap" in one.throttle for one in verdicts):
        flags.append("power_capped")
    kept = tuple(index for index in range(len(verdicts)) if index not in doubtful)
    return ClockJudgement(verdicts, kept, doubtful, tuple(flags))
