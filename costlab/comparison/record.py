"""What a comparison says, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from costlab.comparison.laws import Law

SCHEMA = "costlab.compare/1"
AGREES, DIFFERS, CANNOT_TELL = "agrees", "differs", "cannot tell"


@dataclass(frozen=True, slots=True)
class ComparedPoint:
    """One measured point and its prediction.

    Attributes:
        predicted: ``time_s``, ``time_interval_s``, ``peak_bytes``, ``energy_j``, ``limiter``, ...
        measured: ``time_s``, ``time_interval_s``, ``peak_bytes``, ``energy_j``, ``status``, ...
        ratio: predicted over measured for "time", "peak_bytes", "energy"; None where one lacks.
        in_interval: whether the measured time lies in the predicted interval; None without one.
    """

    architecture: str
    mode: str
    dtype: str
    sizes: Mapping[str, int]
    predicted: Mapping[str, Any]
    measured: Mapping[str, Any]
    ratio: Mapping[str, float | None]
    in_interval: bool | None
    flags: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "mode": self.mode,
            "dtype": self.dtype,
            "sizes": dict(self.sizes),
            "predicted": dict(self.predicted),
            "measured": dict(self.measured),
            "ratio": dict(self.ratio),
            "in_interval": self.in_interval,
            "flags": list(self.flags),
        }


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """Errors of one metric over ``count`` points, relative to the measured value.

    ``ape`` is the absolute relative error; ``bias`` is the median signed one (positive: the
    prediction is too high); ``in_interval`` the share of points inside the predicted interval.
    """

    count: int
    median_ape: float
    p90_ape: float
    max_ape: float
    bias: float
    in_interval: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "median_ape": self.median_ape,
            "p90_ape": self.p90_ape,
            "max_ape": self.max_ape,
            "bias": self.bias,
            "in_interval": self.in_interval,
        }


@dataclass(frozen=True, slots=True)
class Exponent:
    """How a metric grows with one size, all else equal: slope in log-log over the same points.

    ``interval`` is the 95 % interval of the measured slope, None where nothing tells its noise;
    ``noise`` the standard deviation of the logarithm of the process medians; ``law`` what the
    measured values follow (five sizes or more).
    """

    architecture: str
    mode: str
    variable: str
    metric: str
    fixed: Mapping[str, int]
    count: int
    predicted: float | None
    measured: float
    interval: tuple[float, float] | None
    verdict: str
    noise: float | None = None
    law: Law | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "mode": self.mode,
            "variable": self.variable,
            "metric": self.metric,
            "fixed": dict(self.fixed),
            "count": self.count,
            "predicted": self.predicted,
            "measured": self.measured,
            "interval": None if self.interval is None else list(self.interval),
            "verdict": self.verdict,
            "noise": self.noise,
            "law": None if self.law is None else self.law.to_json(),
        }


@dataclass(frozen=True, slots=True)
class CrossoverCheck:
    """Where ``b`` becomes cheaper than ``a``, or the other way round, as predicted and measured.

    ``measured`` and ``predicted`` are None where no order turns between the points; ``interval``
    is where the measured one may lie by the noise of its points, None where that is open.
    """

    a: str
    b: str
    mode: str
    variable: str
    fixed: Mapping[str, int]
    predicted: float | None
    measured: float | None
    verdict: str
    interval: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "mode": self.mode,
            "variable": self.variable,
            "fixed": dict(self.fixed),
            "predicted": self.predicted,
            "measured": self.measured,
            "interval": None if self.interval is None else list(self.interval),
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Points, errors overall and by architecture, exponents and crossovers."""

    run: str
    points: tuple[ComparedPoint, ...]
    overall: Mapping[str, ErrorSummary]
    architectures: Mapping[str, Mapping[str, ErrorSummary]]
    exponents: tuple[Exponent, ...]
    crossovers: tuple[CrossoverCheck, ...]
    unmatched: tuple[str, ...] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        """Schema ``costlab.compare/1``."""
        return {
            "schema": SCHEMA,
            "run": self.run,
            "ratio": "predicted / measured",
            "points": [point.to_json() for point in self.points],
            "summary": {
                "overall": {name: s.to_json() for name, s in self.overall.items()},
                "architectures": {
                    architecture: {name: s.to_json() for name, s in summaries.items()}
                    for architecture, summaries in self.architectures.items()
                },
            },
            "exponents": [exponent.to_json() for exponent in self.exponents],
            "crossovers": [crossover.to_json() for crossover in self.crossovers],
            "unmatched": list(self.unmatched),
        }
