"""Where what dominates a cost changes: a curve bends there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from costlab.errors import CostLabError
from costlab.formulas.record import Derivation
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.search import own_sizes
from costlab.prediction.terms import term_turn
from costlab.prediction.timing import time_of
from costlab_gui.model.roofline import limiter_text
from costlab_gui.model.session import Session

_COARSE = 7  # sizes at which is looked first
_CLOSE = 1.01  # as near as a change is looked for


@dataclass(frozen=True, slots=True)
class Knee:
    """From the size ``at`` on, ``text`` says what dominates."""

    at: int
    text: str


def knees(
    session: Session, program: Derivation, machine: Machine | None, metric: str
) -> tuple[Knee, ...]:
    """The knees of a program between the ends of the session's axis.

    Time bends where another limiter takes the largest share; FLOP, bytes and memory where the
    term of the highest power exceeds all others together.
    """
    try:
        found = (
            _limiters(session, program, machine)
            if metric == "time"
            else _terms(session, program, metric)
        )
    except CostLabError:  # no formula holds at these sizes
        return ()
    return tuple(knee for knee in found if session.low <= knee.at <= session.high)


def _terms(session: Session, program: Derivation, metric: str) -> list[Knee]:
    own = own_sizes(program, session.sizes, session.over)
    turn = term_turn(program, session.over, own, metric)
    if turn is None:
        return []
    text = _("the terms of the highest power of {name} exceed all others").format(name=session.over)
    return [Knee(math.ceil(turn.at), text)]


def _limiters(session: Session, program: Derivation, machine: Machine | None) -> list[Knee]:
    if machine is None:
        return []
    own = own_sizes(program, session.sizes, session.over)
    threads = session.setting.threads or machine.threads

    def limiter(at: int) -> str:
        try:
            full = program.complete({**own, session.over: at})
            sizes = {**full, "threads": threads}
            return time_of(program.select(full), sizes, machine, program.mode).limiter()
        except CostLabError:  # no formula holds there
            return ""

    step = (session.high / session.low) ** (1 / (_COARSE - 1))
    sizes = sorted({round(session.low * step**number) for number in range(_COARSE)})
    names = [limiter(at) for at in sizes]
    found = []
    for index, (before, after) in enumerate(itertools.pairwise(names)):
        if before and after and before != after:
            at, name = _change(limiter, sizes[index], sizes[index + 1], before)
            if name:
                found.append(Knee(at, _("bound by {limiter}").format(limiter=limiter_text(name))))
    return found


def _change(limiter: Callable[[int], str], low: int, high: int, before: str) -> tuple[int, str]:
    """A size near the first whose limiter is not ``before``, and what it is there."""
    while high > low * _CLOSE and high - low > 1:
        middle = round(math.sqrt(low * high))
        if middle in (low, high):
            middle = (low + high) // 2
        low, high = (middle, high) if limiter(middle) == before else (low, middle)
    return high, limiter(high)
