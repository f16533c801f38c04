"""What a calibration has timed, as plain data. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from costlab.calibration.pricing import PricedOp
from costlab.calibration.suite import Case
from costlab.measurement.statistics import median


@dataclass(frozen=True, slots=True)
class TimedCase:
    """A case with its operators and what it takes alone in seconds, once per visit."""

    case: Case
    ops: tuple[PricedOp, ...]
    times_s: tuple[float, ...]
    peak_bytes: int | None = None

    @property
    def time_s(self) -> float:
        return median(self.times_s)

    @property
    def spread(self) -> float:
        """How far the slowest visit was above the quickest."""
        return max(self.times_s) / min(self.times_s) - 1

    @property
    def mode(self) -> str:
        return "train" if any(op.phase == "backward" for op in self.ops) else "forward"


@dataclass(frozen=True, slots=True)
class TinyProgram:
    """One phase of a tiny program: its operators with their cost, and its time in seconds.

    ``passes`` are those of a loop in Python; 0 without one.
    """

    style: str
    phase: str
    ops: tuple[PricedOp, ...]
    time_s: float
    passes: int = 0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TinyProgram:
        return cls(**{**data, "ops": tuple(PricedOp.from_json(op) for op in data["ops"])})


@dataclass(frozen=True, slots=True)
class Overheads:
    """Timings in seconds.

    ``programs`` hold the cost per launch, Python and module calls included, as a real pass has
    them. ``bare_s`` is one operator called alone, ``bare_backward_s`` one start of the autograd
    engine; both are taken off timings of single kernels. ``step_s`` is what a call costs more
    when it waits for the one before.
    """

    programs: tuple[TinyProgram, ...]
    step_s: float
    bare_s: float
    bare_backward_s: float

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Overheads:
        programs = tuple(TinyProgram.from_json(program) for program in data["programs"])
        return cls(**{**data, "programs": programs})

    @classmethod
    def quickest(cls, rounds: Sequence[Overheads]) -> Overheads:
        """The quickest of every timing over ``rounds`` of the same programs."""

        def least(name: str) -> float:
            return float(min(getattr(one, name) for one in rounds))

        programs = tuple(
            replace(same[0], time_s=min(program.time_s for program in same))
            for same in zip(*(one.programs for one in rounds), strict=True)
        )
        return cls(
            programs=programs,
            step_s=least("step_s"),
            bare_s=least("bare_s"),
            bare_backward_s=least("bare_backward_s"),
        )
