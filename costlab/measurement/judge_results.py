"""Whether what was timed computed its answer in every call. Pure, on signatures of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from costlab.measurement.signature import Signature, agree
from costlab.measurement.statistics import median

# How far outputs of equal inputs may be apart, of their norm: another order of summation.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
_SAME = 1e-12
# Calls with new values that take this many times as long, and this much longer, do work that those
# with the first values did not do.
_SLOWER_TIMES = 4.0
_SLOWER_S = 5e-4


@dataclass(frozen=True, slots=True)
class ResultCheck:
    """What one timed process saw of its program's answers.

    Attributes:
        before: outputs of the inputs before anything was timed.
        after: of the same inputs after it.
        varied: of other values in the same input tensors, after it; None if not looked at.
        varied_s: times of single calls, each with values not seen before.
        same_s: of as many between them with the first values, otherwise alike.
        constant_inputs: whether the inputs hold one value throughout.
    """

    before: Signature
    after: Signature
    varied: Signature | None = None
    varied_s: tuple[float, ...] = ()
    same_s: tuple[float, ...] = ()
    constant_inputs: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ResultCheck:
        """Inverse of ``asdict`` after a way through JSON."""
        varied = data["varied"]
        return cls(
            _signature(data["before"]), _signature(data["after"]),
            None if varied is None else _signature(varied),
            tuple(data["varied_s"]), tuple(data["same_s"]), data["constant_inputs"],
        )  # fmt: skip


def _signature(rows: Sequence[Sequence[float]]) -> Signature:
    return tuple(tuple(row) for row in rows)


def judge_results(check: ResultCheck, fresh: Signature | None, dtype: str) -> tuple[str, ...]:
    """Flags for one process.

    "result_changed": the same inputs gave another answer after timing than before, or than in
    another process. "cached_result": new values gave the old answer, or took far longer than the
    first values beside them. "constant_inputs": the data were all one value.

    Args:
        check: what the timed process saw.
        fresh: outputs of the varied values in a process that ran nothing before; None if unknown.
        dtype: in which the outputs were computed.
    """
    flags = []
    tolerance = _TOLERANCE[dtype]
    if not agree(check.before, check.after, tolerance):
        flags.append("result_changed")
    if _is_cached(check, fresh, tolerance):
        flags.append("cached_result")
    elif (
        check.varied is not None and fresh is not None
        and not agree(check.varied, fresh, tolerance) and not flags
    ):  # fmt: skip
        flags.append("result_changed")
    if check.constant_inputs:
        flags.append("constant_inputs")
    return tuple(flags)


def _is_cached(check: ResultCheck, fresh: Signature | None, tolerance: float) -> bool:
    if check.varied_s:
        varied_s, same_s = min(check.varied_s), median(check.same_s)
        if varied_s > _SLOWER_TIMES * same_s and varied_s > same_s + _SLOWER_S:
            return True
    if check.varied is None or fresh is None:
        return False
    kept = agree(check.varied, check.before, _SAME)
    return kept and not agree(check.varied, fresh, tolerance)
