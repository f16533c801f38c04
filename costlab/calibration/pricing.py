"""Traced operators as operator classes with their cost, priced by the same rules as formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from costlab.algebra import as_expr
from costlab.derivation.totals import concrete_call, price
from costlab.errors import DerivationError
from costlab.formulas.record import CostClass, Group, Quantity
from costlab.hardware.calibration_record import CalibrationRecord
from costlab.hardware.machine import Machine
from costlab.prediction.timing import Times, time_of
from costlab.trace.records import OpRecord

# As many operands as a derived group keeps.
_OPERANDS = 3


@dataclass(frozen=True, slots=True)
class PricedOp:
    """One operator call: its class, FLOP, bytes, launches and first operands' shapes."""

    op: str
    kind: str
    phase: str
    flop: int
    bytes: int
    launches: int
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PricedOp:
        return cls(**{**data, "shapes": tuple(tuple(shape) for shape in data["shapes"])})

    def group(self) -> Group:
        """The call as an operator class of its own, which is what the time model takes."""
        return Group(
            op=self.op,
            kind=self.kind,
            phase=self.phase,
            core=False,
            flop=as_expr(self.flop),
            bytes=as_expr(self.bytes),
            calls=as_expr(1),
            launches=as_expr(self.launches),
            shapes=self.shapes,
        )


def price_records(records: Iterable[OpRecord], backend: str) -> tuple[PricedOp, ...]:
    """Cost of each traced operator; those that do nothing are left out.

    Raises:
        DerivationError: if an operator has no rule.
    """
    priced = []
    for record in records:
        call = concrete_call(record, backend)
        result = price(call)
        if result.cost is None:
            raise DerivationError("no cost rule", operator=record.op)
        if result.cost.launches == 0 and result.cost.bytes_read == 0:
            continue
        priced.append(
            PricedOp(
                op=record.op,
                kind=result.cost.kind,
                phase=record.phase,
                flop=_integer(result.quantity("flop")),
                bytes=_integer(result.quantity("bytes")),
                launches=_integer(result.quantity("launches")),
                shapes=tuple(
                    tuple(_integer(size) for size in tensor.shape)
                    for tensor in list(call.tensors())[:_OPERANDS]
                ),
            )
        )
    return tuple(priced)


def predict_ops(
    ops: Iterable[PricedOp], record: CalibrationRecord, mode: str, peak_bytes: int | None = None
) -> Times:
    """What the time model expects of ``ops``, one after the other.

    Args:
        ops: operators of one pass.
        record: the machine.
        mode: mode of the pass.
        peak_bytes: most bytes alive; None takes every call as if it ran alone.
    """
    machine = Machine.from_calibration(record)
    return time_of(class_of(ops, peak_bytes), {}, machine, mode)


def class_of(ops: Iterable[PricedOp], peak_bytes: int | None = None) -> CostClass:
    """The calls as what the time model takes, equal ones counted."""
    counts = Counter(ops)
    groups = tuple(replace(op.group(), calls=as_expr(count)) for op, count in counts.items())
    # A calibrating process has freed blocks so large that its heap gives nothing back in a pass.
    cost = {} if peak_bytes is None else {"peak_bytes": Quantity(as_expr(peak_bytes))}
    return CostClass((), cost, groups, ())


def _integer(size: object) -> int:
    # Costs of concrete calls are integers, but a logarithm makes an expression or a float of them.
    return int(float(as_expr(size).evaluate({})))  # type: ignore[arg-type]
