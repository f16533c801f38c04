"""How many hands a machine needs before a parallel program beats a sequential one.

With ``p`` hands a program takes at least ``max(work / p, steps * latency)``: hands share the work,
nobody shortens the chain of steps that wait for each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """What width depends on.

    ``work_s``: seconds of arithmetic and traffic for one hand. ``chain_s``: seconds of the longest
    chain of dependent steps, however many hands there are.
    """

    name: str
    work_s: float
    chain_s: float

    def time_s(self, hands: float) -> float:
        """The bound for ``hands`` hands, in seconds."""
        return max(self.work_s / hands, self.chain_s)


@dataclass(frozen=True, slots=True)
class Turn:
    """The order of two programs at one hand, and the width at which it turns.

    ``hands`` is None where the order is the same for every width.
    """

    cheaper_alone: str
    cheaper_wide: str
    hands: float | None


def width_where_order_turns(a: Program, b: Program) -> Turn:
    """Smallest number of hands at which the other of ``a`` and ``b`` becomes the cheaper one."""
    alone = _cheaper(a, b, 1.0)
    # Beyond this width only the chains are left.
    wide = max(p.work_s / p.chain_s if p.chain_s else math.inf for p in (a, b))
    candidates = sorted(
        p.work_s / q.chain_s for p, q in ((a, b), (b, a)) if q.chain_s > 0 and p.work_s > 0
    )
    last = _cheaper(a, b, 2 * max(wide, 1.0)) if math.isfinite(wide) else alone
    for hands in candidates:
        if hands >= 1 and _cheaper(a, b, hands * (1 + 1e-9)) != alone:
            return Turn(alone, _cheaper(a, b, hands * (1 + 1e-9)), hands)
    return Turn(alone, last, None)


def _cheaper(a: Program, b: Program, hands: float) -> str:
    return a.name if a.time_s(hands) <= b.time_s(hands) else b.name
