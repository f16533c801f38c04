"""What a prediction says, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "costlab.predict/1"
DOUBLED = ("time", "peak_bytes", "flop", "state_bytes")


@dataclass(frozen=True, slots=True)
class Prediction:
    """Cost of one program at one set of sizes on one machine.

    Attributes:
        basis: "calibrated", "transferred" or "datasheet bound" (then ``time_s`` is a lower bound).
        time_interval_s: (low, high); high None where only a bound is known.
        limiter: "compute", "memory", "launch" or "latency", whichever has the largest share.
        shares: seconds by limiter; they add up to ``time_s``.
        doubling: symbol to factor by which each quantity grows when the symbol doubles; None
            where the doubled size is outside the domain.
        reasons: field to why it is None.
    """

    architecture: str
    mode: str
    dtype: str
    device: str
    sizes: Mapping[str, int]
    threads: int
    flop: int | None
    flop_useful: int | None
    bytes: int | None
    peak_bytes: int | None
    state_bytes: int | None
    reserved_bytes: int | None
    device_bytes: int | None
    launches: int | None
    steps: int | None
    time_s: float
    time_interval_s: tuple[float | None, float | None]
    basis: str
    limiter: str
    shares: Mapping[str, float]
    energy_j: float | None
    energy_reason: str
    doubling: Mapping[str, Mapping[str, float | None]]
    assumptions: tuple[str, ...]
    gaps: tuple[str, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """One entry of ``points`` of schema ``costlab.predict/1``."""
        low, high = self.time_interval_s
        return {
            "architecture": self.architecture,
            "mode": self.mode,
            "dtype": self.dtype,
            "device": self.device,
            "sizes": dict(self.sizes),
            "threads": self.threads,
            "flop": self.flop,
            "flop_useful": self.flop_useful,
            "bytes": self.bytes,
            "peak_bytes": self.peak_bytes,
            "state_bytes": self.state_bytes,
            "reserved_bytes": self.reserved_bytes,
            "device_bytes": self.device_bytes,
            "launches": self.launches,
            "steps": self.steps,
            "time_s": self.time_s,
            "time_interval_s": [low, high if high is None or math.isfinite(high) else None],
            "basis": self.basis,
            "limiter": self.limiter,
            "shares_s": dict(self.shares),
            "energy_j": self.energy_j,
            "energy_reason": self.energy_reason,
            "doubling": {name: dict(factors) for name, factors in self.doubling.items()},
            "assumptions": list(self.assumptions),
            "gaps": list(self.gaps),
            "reasons": dict(self.reasons),
        }
