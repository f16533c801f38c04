"""Cumulative operators along a dimension: one combination per element, in one pass."""

from __future__ import annotations

from dataclasses import replace

from costlab.graph import Call
from costlab.rules.base import Cost, bytes_of, rule, written_bytes

LOGCUMSUMEXP_OPERATIONS = 6
"""Maximum, minimum, subtraction, exponential, ``log1p``, addition."""


def _scan(call: Call, per_element: int) -> Cost:
    return Cost(
        "reduction",
        flop_other=call.tensor("self").numel * per_element,
        bytes_read=bytes_of(call, "self"),
        bytes_written=written_bytes(call),
    )


@rule(
    "aten.cumsum", "aten.cumsum_", "aten.cumprod", "aten.cumprod_", "aten.cummax", "aten.cummin",
    "aten.diff",
)  # fmt: skip
def _one_per_element(call: Call) -> Cost:
    """On a CPU, numbers that are summed in another type (truth values) are cast first."""
    tensor, out = call.tensor("self"), call.outs[0]
    casts = call.backend == "cpu" and tensor.dtype != out.dtype
    return replace(_scan(call, 1), scratch_bytes=tensor.numel * out.itemsize if casts else 0)


@rule("aten._cummax_helper", "aten._cummin_helper")
def _running_extreme(call: Call) -> Cost:
    """Results are passed as arguments and filled."""
    values = call.tensor("self")
    return Cost(
        "reduction",
        flop_other=values.numel,
        bytes_read=values.nbytes,
        bytes_written=bytes_of(call, "values", "indices"),
    )


@rule("aten.logcumsumexp", "aten._logcumsumexp")
def _logcumsumexp(call: Call) -> Cost:
    return _scan(call, LOGCUMSUMEXP_OPERATIONS)
