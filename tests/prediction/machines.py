"""Machines with one rate and one bandwidth, so that times can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costlab.hardware.machine import CALIBRATED, Machine


@dataclass(frozen=True)
class FlatRates:
    flop: float
    bandwidth: float

    def flop_per_s(self, name: str, shape: tuple[Any, ...]) -> float | None:
        return self.flop if name.partition("_")[0] in {"matmul", "attention"} else None

    def unaligned_elements(self, name: str, shape: tuple[Any, ...]) -> float:
        return 0.0

    def unaligned_s(self, level_bytes: Any) -> float:
        return 0.0

    def has_shapes(self, kind: str) -> bool:
        return False

    def bytes_per_s(self, op: str, kind: str, size_bytes: Any) -> float | None:
        return self.bandwidth


def flat_machine(
    *,
    flop_per_s: float = 1e9,
    bytes_per_s: float = 1e9,
    launch_s: float = 0.0,
    step_s: float = 0.0,
    width: int = 1,
    spread: Mapping[str, tuple[float, float]] | None = None,
    capacity_bytes: float | None = None,
) -> Machine:
    return Machine(
        name="flat",
        title="flat",
        backend="cpu",
        dtype="float32",
        threads=1,
        basis=CALIBRATED,
        rates=FlatRates(flop_per_s, bytes_per_s),
        launch_s={"forward": launch_s},
        step_s=step_s,
        width=width,
        spread=spread or {},
        capacity_bytes=capacity_bytes,
    )
