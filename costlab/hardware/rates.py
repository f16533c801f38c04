"""How fast one call runs on a machine: from a calibration record, or from published constants.

Everything takes and returns numpy arrays (or plain floats), so that a curve or a map is one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from costlab.hardware.calibration_record import SHAPES, CalibrationRecord, Curve, ShapedRate
from costlab.hardware.profile import DeviceProfile
from costlab.hardware.ragged import RaggedTable, unaligned_elements, unaligned_s
from costlab.hardware.surface import Surface

Array = NDArray[np.float64]
MATRIX_KINDS = frozenset({"matmul", "attention", "convolution", "recurrent"})

# Operators that run the kernel of another.
_ALIKE = {f"aten.{name}": "aten.eq" for name in ("ne", "lt", "le", "gt", "ge")}


class Rates(Protocol):
    """What a machine knows about operator classes."""

    def flop_per_s(self, name: str, shape: tuple[Any, ...]) -> Array | float | None:
        """Dense FLOP/s of a call; None where the arithmetic does not decide.

        Args:
            name: kind, or kind with a suffix ("attention_backward").
            shape: dimensions as in ``calibration_record.SHAPES``; empty where unknown.
        """

    def unaligned_elements(self, name: str, shape: tuple[Any, ...]) -> Array | float:
        """Elements that a call writes to rows that begin anywhere; arguments as above."""

    def unaligned_s(self, level_bytes: Any) -> Array | float:
        """Seconds more for each of them, ``level_bytes`` after the last use of its memory."""

    def has_shapes(self, kind: str) -> bool:
        """Whether the FLOP rate of ``kind`` depends on the shape."""

    def bytes_per_s(self, op: str, kind: str, size_bytes: Any) -> Array | float | None:
        """B/s of a call that addresses ``size_bytes``; None where no curve speaks of it."""


@dataclass(frozen=True)
class CalibratedRates:
    """The rates of one calibration record, for arrays of shapes and sizes at once."""

    record: CalibrationRecord

    def flop_per_s(self, name: str, shape: tuple[Any, ...]) -> Array | float | None:
        rates = self.record.shaped.get(name) or self.record.shaped.get(name.partition("_")[0])
        if not rates:
            return None
        if len(shape) != len(rates[0].shape):
            return self.record.peak_flop_per_s if name == "matmul" else None
        key = name if self.record.shaped.get(name) else name.partition("_")[0]
        ragged = self._ragged.get(key)
        smooth = self._surfaces[key].at(shape)
        return smooth if ragged is None else smooth / ragged.factor(shape)

    def unaligned_elements(self, name: str, shape: tuple[Any, ...]) -> Array | float:
        if name != "matmul" or len(shape) != len(SHAPES[name]) or not self.record.unaligned:
            return 0.0
        return unaligned_elements(shape)

    def unaligned_s(self, level_bytes: Any) -> Array | float:
        return unaligned_s(level_bytes, self.record.unaligned) if self.record.unaligned else 0.0

    @cached_property
    def _surfaces(self) -> dict[str, Surface]:
        """Through the rates as they would be if every width filled the vectors."""
        return {
            name: Surface.through([self._smooth(name, rate) for rate in rates])
            for name, rates in self.record.shaped.items()
            if rates
        }

    def _smooth(self, name: str, rate: ShapedRate) -> ShapedRate:
        ragged = self._ragged.get(name)
        if ragged is None:
            return rate
        return ShapedRate(rate.shape, rate.flop_per_s * float(ragged.factor(rate.shape)))

    @cached_property
    def _ragged(self) -> dict[str, RaggedTable]:
        found = {}
        for name in self.record.shaped:
            measured = self.record.ragged.get(name)
            if measured is None and not name.endswith("_backward"):
                measured = self.record.ragged.get(name.partition("_")[0])
            table = RaggedTable.of(name, measured or ())
            if table is not None:
                found[name] = table
        return found

    def has_shapes(self, kind: str) -> bool:
        return kind in self.record.shaped

    def curve(self, op: str, kind: str) -> Curve | None:
        """What ``bytes_per_s`` reads its rates from."""
        # An operator in place runs the kernel of the one that is not.
        packet = ".".join(op.split(".")[:2]).rstrip("_")
        packet = _ALIKE.get(packet, packet)
        return self.record.bandwidth.get(packet) or self.record.bandwidth.get(kind)

    def bytes_per_s(self, op: str, kind: str, size_bytes: Any) -> Array | float | None:
        curve = self.curve(op, kind)
        if curve is None:
            return None
        sizes, rates = _logs(curve)
        wanted = np.log(np.maximum(np.asarray(size_bytes, dtype=float), 1.0))
        # Below the smallest size a call takes as long as there: its work is the call itself.
        below = np.minimum(wanted - sizes[0], 0.0)
        return np.asarray(np.exp(np.interp(wanted, sizes, rates) + below))


@lru_cache(maxsize=256)
def _logs(curve: Curve) -> tuple[Array, Array]:
    points = np.log(np.array(curve.points, dtype=float))
    return points[:, 0], points[:, 1]


@dataclass(frozen=True)
class DatasheetRates:
    """Published peaks of a device for one dtype: nothing runs faster than this."""

    profile: DeviceProfile
    dtype: str

    def flop_per_s(self, name: str, shape: tuple[Any, ...]) -> Array | float | None:
        del shape
        vector = self.profile.vector.get(self.dtype) or self.profile.vector["float32"]
        if name.partition("_")[0] not in MATRIX_KINDS:
            return vector.value
        return (self.profile.matrix.get(self.dtype) or vector).value

    def unaligned_elements(self, name: str, shape: tuple[Any, ...]) -> Array | float:
        del name, shape
        return 0.0

    def unaligned_s(self, level_bytes: Any) -> Array | float:
        del level_bytes
        return 0.0

    def has_shapes(self, kind: str) -> bool:
        del kind
        return False

    def bytes_per_s(self, op: str, kind: str, size_bytes: Any) -> Array | float | None:
        del op, kind, size_bytes
        return self.profile.bandwidth.value
