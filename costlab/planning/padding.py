"""What FSDP2 adds to a rank's share under many plans: each parameter is cut by rows, and padded.

A share is ``ceil(rows / ranks)`` rows, so 4096 rows over 16384 ranks are one row a rank: four
times the parameter in all (``costlab.planning.tensors``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from costlab.planning.memory import divided
from costlab.planning.parallel import Column, Plans
from costlab.planning.tensors import Shape, shapes
from costlab.planning.workload import Workload

Padding = tuple[Column, Column]
"""Padded over unpadded share of what all ranks have and of routed experts; 1 below ZeRO-3."""


def padding(work: Workload, plans: Plans) -> Padding:
    """How much more than its share of the parameters a rank holds under each plan."""
    p = plans
    replicas = p.dp * p.cp
    return (
        _factors(work, p.tp, np.where(p.zero < 3, 1.0, replicas), expert=False),
        _factors(work, p.tp, np.where(p.zero < 3, 1.0, replicas / p.ep), expert=True),
    )


def _factors(work: Workload, tp: Column, ranks: Column, *, expert: bool) -> Column:
    """The factor where ``ranks`` cut what each of ``tp`` ranks has."""
    found = np.ones_like(tp)
    for width in np.unique(tp[ranks > 1]):
        here = (tp == width) & (ranks > 1)
        rows, row, count = _tensors(work, int(width), expert)
        if not len(rows):
            continue
        cuts, place = np.unique(ranks[here], return_inverse=True)
        share = np.ceil(rows / cuts[:, None]) @ (row * count)
        found[here] = (share * cuts / float(rows @ (row * count)))[place]
    return found


def _tensors(work: Workload, tp: int, expert: bool) -> tuple[Column, Column, Column]:
    """Rows, size of a row and number of the parameters of one of ``tp`` ranks."""
    number: Counter[Shape] = Counter()
    for item, count in work.parts:
        if item.expert == expert:
            for shape in shapes(replace(divided(item, tp), copies=1)):
                number[shape] += count * item.copies
    sizes = np.array(list(number), dtype=float).reshape(-1, 2)
    return sizes[:, 0], sizes[:, 1], np.array(list(number.values()), dtype=float)
