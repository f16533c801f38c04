"""Clusters beside one another: time, cost and energy of each one's best plan, and the front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from costlab.i18n import _
from costlab.planning.api import Training, plan
from costlab.planning.cluster import Rates, on_each
from costlab.planning.model import ModelConfig


@dataclass(frozen=True, slots=True)
class Choice:
    """One cluster: its best plan, or why there is none."""

    device: str
    gpus: int
    training: Training | None
    reason: str = ""

    @property
    def marks(self) -> tuple[float, float, float]:
        """Days, cost (device hours without a price) and energy; smaller is better."""
        assert self.training is not None
        cost = self.training.bill(self.training.shown[0])
        spent = cost.device_hours if cost.cost is None else cost.cost
        return cost.days, spent, cost.energy_j or spent


def clusters(
    model: str | ModelConfig,
    machines: Sequence[tuple[str, int, Rates | None]],
    **job: Any,
) -> list[Choice]:
    """The best plan of each cluster (device, count, rates); ``job`` as for a plan.

    Raises:
        InputError: if the job fits none of them.
    """
    found = on_each(
        machines,
        lambda device, gpus, rates: plan(model, device, gpus, rates=rates, **job),
        _("the job fits none of the clusters"),
    )
    return [Choice(*one) for one in found]


def front(choices: Sequence[Choice]) -> list[Choice]:
    """Those that no other beats in time, cost and energy at once."""
    able = [choice for choice in choices if choice.training is not None]

    def beaten(mine: Choice) -> bool:
        return any(
            all(a <= b for a, b in zip(other.marks, mine.marks, strict=True))
            and other.marks != mine.marks
            for other in able
        )

    return [choice for choice in able if not beaten(choice)]
