"""Where programs overtake each other, bend, and no longer fit: computed and worded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from costlab.errors import CostLabError
from costlab.figures.spec import Ring
from costlab.formulas.record import Derivation
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.ceilings import ceiling
from costlab.prediction.crossover import Crossover, crossovers
from costlab.prediction.grid import METRICS, curve
from costlab.prediction.search import own_sizes
from costlab.prediction.timing import time_of
from costlab.prediction.width import Program, width_where_order_turns
from costlab.units import format_count, format_value
from costlab_gui.model.knees import knees
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace

SHOWN = 8
_RINGS = 3


@dataclass(frozen=True, slots=True)
class Landmark:
    """One line.

    Attributes:
        text: "LSTM beats full attention".
        where: "n ≥ 762", or "n ≤ 35 290".
        at: the size; None where there is none to go to.
        detail: what else is known: the interval, what binds.
    """

    text: str
    where: str
    at: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Landmarks:
    """The lines for the present session, the nearest to its size first, and rings by metric."""

    lines: tuple[Landmark, ...] = ()
    more: int = 0
    rings: dict[str, tuple[Ring, ...]] = field(default_factory=dict)


class Superseded(Exception):
    """A newer session has been asked about."""


def landmarks(
    session: Session, workspace: Workspace, superseded: Callable[[], bool] = lambda: False
) -> Landmarks:
    """Crossovers of every two shown programs, ceilings, and knees of the selected one.

    All are over ``session.over``.

    Crossovers are of the first metric shown that can be predicted. Programs without formulas for
    the setting, or whose cost does not depend on the size, are left out.

    Raises:
        Superseded: as soon as ``superseded`` says so.
    """
    metrics = [metric for metric in session.metrics if metric in METRICS] or ["time"]
    machine = _machine(session, workspace)
    programs = dict(_programs(session, workspace))
    found: list[tuple[float, Landmark]] = []
    rings: dict[str, tuple[Ring, ...]] = {}
    for metric in metrics:
        if metric == "time" and machine is None:
            continue
        turns: list[tuple[Crossover, str, str]] = []
        for a, b in combinations(programs, 2):
            if superseded():
                raise Superseded
            turns += [
                (turn, *_order(turn, a, b, programs))
                for turn in _crossovers(session, programs[a], programs[b], machine, metric)
            ]
        turns.sort(key=lambda item: _distance(session, item[0].at))
        rings[metric] = tuple(
            _ring(session, workspace, programs[new], machine, metric, turn, old, new)
            for turn, new, old in turns[:_RINGS]
            if session.low <= turn.at <= session.high
        )
        if metric == metrics[0]:
            found += [
                (_distance(session, turn.at), _crossing(session, workspace, turn, new, old))
                for turn, new, old in turns
            ]
        bent = programs.get(session.selected)
        if bent is None:
            continue
        for knee in knees(session, bent, machine, metric):
            value = _value(session, bent, machine, metric, knee.at)
            label = _("{text} from {name} ≈ {at}").format(
                text=knee.text, name=session.over, at=format_count(knee.at)
            )
            rings[metric] += (Ring(float(knee.at), value, label),)
            if metric == metrics[0]:
                text = _("{name}: {knee}").format(
                    name=workspace.title(session.selected), knee=knee.text
                )
                line = Landmark(text, f"{session.over} ≈ {format_count(knee.at)}", knee.at,
                                _("in {metric}, predicted").format(metric=metric))  # fmt: skip
                found.append((_distance(session, knee.at), line))
    for target, program in programs.items():
        if superseded():
            raise Superseded
        found += _ceilings(session, workspace, target, program, machine)
    found.sort(key=lambda item: item[0])
    lines = [line for _far, line in found]
    width = _width(session, workspace, programs, machine)
    kept = [*lines[: SHOWN - len(width)], *width]
    return Landmarks(tuple(kept), len(lines) + len(width) - len(kept), rings)


def _programs(session: Session, workspace: Workspace) -> Sequence[tuple[str, Derivation]]:
    found = []
    for target in session.shown:
        try:
            program = workspace.derivation(target, session.setting)
        except CostLabError:
            continue
        if session.over in program.sizes:
            found.append((target, program))
    return found


def _machine(session: Session, workspace: Workspace) -> Machine | None:
    try:
        return workspace.machine(session.setting)
    except CostLabError:
        return None


def _crossovers(
    session: Session, a: Derivation, b: Derivation, machine: Machine | None, metric: str
) -> list[Crossover]:
    try:
        return crossovers(a, b, session.over, session.sizes, machine, metric)
    except CostLabError:  # no size suits both, or one has no such formula
        return []


def _order(turn: Crossover, a: str, b: str, programs: dict[str, Derivation]) -> tuple[str, str]:
    """Targets of the cheaper program from the crossover on, and of the other."""
    return (a, b) if turn.cheaper == programs[a].architecture else (b, a)


def _crossing(
    session: Session, workspace: Workspace, turn: Crossover, new: str, old: str
) -> Landmark:
    text = _("{new} beats {old}").format(new=workspace.title(new), old=_lower(workspace, old))
    low, high = turn.interval
    detail = _("in {metric}, predicted").format(metric=turn.metric)
    if low is not None and high is not None:
        detail = _("the intervals overlap from {low} to {high}; {rest}").format(
            low=format_count(low), high=format_count(high), rest=detail
        )
    return Landmark(text, f"{session.over} ≥ {format_count(turn.at)}", turn.at, detail)


def _ring(
    session: Session,
    workspace: Workspace,
    program: Derivation,
    machine: Machine | None,
    metric: str,
    turn: Crossover,
    old: str,
    new: str,
) -> Ring:
    value = _value(session, program, machine, metric, turn.at)
    label = _("{new} overtakes at {name} = {at}").format(
        new=workspace.title(new), name=session.over, at=format_count(turn.at)
    )
    return Ring(float(turn.at), value, label)


def _value(
    session: Session, program: Derivation, machine: Machine | None, metric: str, at: int
) -> float:
    """What a curve of ``metric`` is at one size."""
    import numpy as np

    own = own_sizes(program, session.sizes, session.over)
    sizes = np.array([float(at)])
    hands = session.hands if metric == "time" else None
    found = curve(program, session.over, sizes, own, metric, machine, hands=hands)
    return float(found.value[0])


def _ceilings(
    session: Session,
    workspace: Workspace,
    target: str,
    program: Derivation,
    machine: Machine | None,
) -> list[tuple[float, Landmark]]:
    """What fits the device or the budget of memory, and what meets the budget of time."""
    budget = session.budget
    capacity = machine.capacity_bytes if machine is not None else None
    name = workspace.title(target)
    wanted: list[tuple[str, dict[str, float]]] = []
    if budget.memory_bytes or capacity:
        size = budget.memory_bytes or capacity or 0.0
        fits = _("{name} fits {size}").format(name=name, size=format_value(size, "B"))
        wanted.append((fits, {"fits_bytes": size}))
    if budget.time_s and machine is not None:
        within = _("{name} within {time}").format(name=name, time=format_value(budget.time_s, "s"))
        # Memory is a line of its own.
        wanted.append((within, {"fits_bytes": math.inf, "within_s": budget.time_s}))
    found = []
    for text, limits in wanted:
        try:
            top = ceiling(program, session.over, _own(session, program), machine, **limits)
        except CostLabError:
            continue
        if top.at is not None:
            where = f"{session.over} ≤ {format_count(top.at)}"
            found.append((_distance(session, top.at), Landmark(text, where, top.at)))
        elif top.binds:
            found.append((0.0, Landmark(text, _("never"), None, _("not even the smallest size"))))
    return found


def _width(
    session: Session,
    workspace: Workspace,
    programs: dict[str, Derivation],
    machine: Machine | None,
) -> list[Landmark]:
    """At which machine width the order of the two first programs turns, if width is looked at."""
    if session.hands is None or machine is None or len(programs) < 2:
        return []
    found = []
    for target, program in list(programs.items())[:2]:
        try:
            full = program.complete(_own(session, program))
            times = time_of(program.select(full), {**full, "threads": machine.threads}, machine,
                            program.mode)  # fmt: skip
        except CostLabError:
            return []
        chain_s = float(times.total_s - times.work_s)
        found.append(Program(target, float(times.work_s) * machine.width, chain_s))
    turn = width_where_order_turns(*found)
    if turn.hands is None:
        text = _("{name} is the quicker one at any width").format(
            name=workspace.title(turn.cheaper_alone)
        )
        return [Landmark(text, "")]
    text = _("{name} is quicker on a wider machine").format(name=workspace.title(turn.cheaper_wide))
    return [Landmark(text, f"p ≥ {turn.hands:.3g}")]


def _own(session: Session, program: Derivation) -> dict[str, int]:
    return {name: size for name, size in session.sizes.items() if name in program.sizes}


def _distance(session: Session, at: int) -> float:
    """How far a size is from the present one, in factors."""
    return abs(math.log(at / session.sizes.get(session.over, at)))


def _lower(workspace: Workspace, target: str) -> str:
    """A title inside a sentence: "full attention", but "LSTM" and "FlashAttention"."""
    title = workspace.title(target)
    plain = title[:1] + title[1:2].lower() == title[:2] and title[1:] == title[1:].lower()
    return title[:1].lower() + title[1:] if plain else title
