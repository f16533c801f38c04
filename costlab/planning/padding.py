"""What FSDP2 adds to a rank's share under many plans: each parameter is cut by rows, and padded.

A share is ``ceil(rows / ranks)`` rows, so 4096 rows over 16384 ranks are one row a rank: four
times the parameter in all (``costlab.planning.tensors``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from costlab.planning.memory import divided
from costlab.planning.model import Part
from costlab.planning.parallel import Column, Plans
from costlab.planning.tensors import Shape, elements, row_share, shapes
from costlab.planning.workload import Workload


def padding(work: Workload, plans: Plans) -> tuple[Column, Column]:
    """Padded over unpadded share of what all ranks have and of routed experts; 1 below ZeRO-3."""
    p = plans
    replicas = p.dp * p.cp
    cuts = np.stack([p.tp, replicas, replicas / p.ep], axis=1)
    cuts[p.zero < 3] = 1.0  # nothing is cut
    unique, place = np.unique(cuts, axis=0, return_inverse=True)
    found = np.array([
        [_factor(work, int(tp), ranks, expert=False), _factor(work, int(tp), own, expert=True)]
        for tp, ranks, own in unique
    ])  # fmt: skip
    chosen = found[place.reshape(-1)]
    return chosen[:, 0], chosen[:, 1]


def _factor(work: Workload, tp: int, ranks: float, *, expert: bool) -> float:
    if ranks <= 1:
        return 1.0
    whole = share = 0
    for item, count in work.parts:
        if item.expert == expert:
            each = _of_one(item, tp)
            whole += count * item.copies * elements(each)
            share += count * item.copies * row_share(each, int(ranks))
    return share * int(ranks) / whole if whole else 1.0


def _of_one(item: Part, tp: int) -> tuple[Shape, ...]:
    return shapes(replace(divided(item, tp), copies=1))
