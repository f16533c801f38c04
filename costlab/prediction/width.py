"""How many hands a machine needs before a parallel program beats a sequential one.

With ``p`` hands a program takes ``work / p + chain``: hands share the arithmetic and the traffic,
nobody shortens the chain of launches and steps that wait for each other. At the machine's own
width that is the predicted time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """What width depends on.

    ``work_s``: seconds of arithmetic and traffic for one hand. ``chain_s``: seconds of what waits
    for each other, however many hands there are.
    """

    name: str
    work_s: float
    chain_s: float

    def time_s(self, hands: float) -> float:
        """Seconds with ``hands`` hands."""
        return self.work_s / hands + self.chain_s


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
    alone, other = (a, b) if a.time_s(1.0) <= b.time_s(1.0) else (b, a)
    if alone.chain_s <= other.chain_s:
        return Turn(alone.name, alone.name, None)
    # work_a / p + chain_a = work_b / p + chain_b
    hands = (other.work_s - alone.work_s) / (alone.chain_s - other.chain_s)
    return Turn(alone.name, other.name, hands)
