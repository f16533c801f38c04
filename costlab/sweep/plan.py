"""What a sweep measures and in which order. Plain data, stored with the run."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from costlab.measurement.point import PointSpec
from costlab.measurement.timing import TimingPlan


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Points with how each is measured; ``seed`` fixes their order.

    ``budget_s`` is seconds for the whole sweep (None: each point takes what it needs) and
    ``timeout_s`` for one process; ``timing`` are the limits within it. Without ``resident`` no
    point has a resident peak, which saves about 2 s for each.
    """

    points: tuple[PointSpec, ...]
    seed: int
    repeats: int = 3
    budget_s: float | None = None
    timeout_s: float = 120.0
    resident: bool = True
    timing: TimingPlan = field(default_factory=TimingPlan)

    def order(self) -> list[PointSpec]:
        """The points shuffled by the seed: a machine that grows slower slows all sizes alike."""
        shuffled = list(self.points)
        random.Random(self.seed).shuffle(shuffled)
        return shuffled

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SweepPlan:
        points = tuple(PointSpec(**point) for point in data["points"])
        return cls(**{**data, "points": points, "timing": TimingPlan(**data["timing"])})


def expand(
    targets: Sequence[str],
    grid: Mapping[str, Sequence[int]],
    *,
    modes: Sequence[str] = ("forward",),
    dtypes: Sequence[str] = ("float32",),
    device: str = "cpu",
    threads: int = 1,
    options: Mapping[str, Any] | None = None,
) -> tuple[PointSpec, ...]:
    """Every combination of targets, sizes, modes and dtypes.

    Args:
        targets: architectures or ``FILE.py:FACTORY``.
        grid: values per symbol, ``{"n": [256, 512], "d": [64]}``.
        modes: modes of each.
        dtypes: dtypes of each.
        device: where all of them run.
        threads: threads of all of them.
        options: flags of the targets.

    Example:
        >>> [p.sizes for p in expand(["full_attention"], {"n": [256, 512], "d": [64]})]
        [{'n': 256, 'd': 64}, {'n': 512, 'd': 64}]
    """
    return tuple(
        PointSpec(
            target,
            dict(zip(grid, values, strict=True)),
            mode,
            dtype,
            device,
            threads,
            dict(options or {}),
        )
        for target, mode, dtype in itertools.product(targets, modes, dtypes)
        for values in itertools.product(*grid.values())
    )
