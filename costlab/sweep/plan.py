"""What a sweep measures and in which order. Plain data, stored with the run."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _
from costlab.measurement.point import PointSpec
from costlab.measurement.timing import TimingPlan


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Points with how each is measured; ``seed`` fixes their order.

    ``budget_s`` is seconds for the whole sweep (None: each point takes what it needs) and
    ``timeout_s`` for one process; ``timing`` are the limits within it. Without ``resident`` no
    point has a resident peak, which saves about 2 s for each, and without ``energy`` none has an
    energy, which saves about 17 s on a device that has a counter. The processes of ``block`` points
    are interleaved (1: one point after the other).
    """

    points: tuple[PointSpec, ...]
    seed: int
    repeats: int = 5
    budget_s: float | None = None
    timeout_s: float = 120.0
    resident: bool = True
    energy: bool = True
    timing: TimingPlan = field(default_factory=TimingPlan)
    block: int = 12

    def blocks(self) -> list[list[PointSpec]]:
        """The points shuffled by the seed and cut into blocks of about equal length."""
        shuffled = list(self.points)
        random.Random(self.seed).shuffle(shuffled)
        count = -(-len(shuffled) // self.block)
        return [shuffled[place::count] for place in range(count)]

    def turns(self, block: int, count: int, number: int) -> list[int]:
        """The order of a block's ``count`` points in a round: A B C, C B A, then a new order.

        Two rounds that mirror each other cancel a drift that is linear in time, and a random
        order for each pair keeps one that is not from falling on the same points (nvbench and
        google/benchmark interleave for the same reason).
        """
        order = list(range(count))
        random.Random(f"{self.seed}/{block}/{number // 2}").shuffle(order)
        return order[::-1] if number % 2 else order

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SweepPlan:
        """Inverse of :meth:`to_json`.

        Raises:
            InputError: if the plan has settings that this version does not know.
        """
        try:
            points = tuple(PointSpec(**point) for point in data["points"])
            return cls(**{**data, "points": points, "timing": TimingPlan(**data["timing"])})
        except (TypeError, KeyError) as error:
            raise InputError(
                _("another version of CostLab has planned this run"), given=str(error)
            ) from error


def expand(
    targets: Sequence[str],
    grid: Mapping[str, Sequence[int]],
    *,
    modes: Sequence[str] = ("forward",),
    dtypes: Sequence[str] = ("float32",),
    devices: Sequence[str] = ("cpu",),
    threads: Sequence[int] = (1,),
    options: Mapping[str, Any] | None = None,
) -> tuple[PointSpec, ...]:
    """Every combination of targets, modes, dtypes, devices, threads and sizes.

    Args:
        targets: architectures or ``FILE.py:FACTORY``.
        grid: values per symbol, ``{"n": [256, 512], "d": [64]}``.
        modes: modes of each.
        dtypes: dtypes of each.
        devices: where each of them runs.
        threads: thread counts of each.
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
            count,
            dict(options or {}),
        )
        for target, mode, dtype, device, count in itertools.product(
            targets, modes, dtypes, devices, threads
        )
        for values in itertools.product(*grid.values())
    )
