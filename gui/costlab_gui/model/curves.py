"""The curves of all panels of a frame, evaluated together and kept until something changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from costlab.errors import CostLabError, SizeError
from costlab.formulas.identity import Same
from costlab.formulas.record import Derivation
from costlab.hardware.calibration_record import PERIOD
from costlab.i18n import _
from costlab.prediction.grid import METRICS, Values, Wanted, curves
from costlab.prediction.search import lattice_step, own_sizes
from costlab_gui.model.session import Session, Setting

if TYPE_CHECKING:
    from costlab_gui.model.workspace import Workspace

_KEPT = 4
_FROM_PERIODS = 2


@dataclass(frozen=True, slots=True)
class Curve:
    """Values of one program over sizes ``x``; an error where a metric cannot be predicted."""

    x: NDArray[np.float64]
    values: Mapping[str, Values | CostLabError]


class Curves:
    """Evaluates what a session shows; asking again for another metric of it costs nothing."""

    def __init__(self) -> None:
        self._known: list[tuple[_Question, dict[str, Curve | CostLabError]]] = []
        self._latest: list[_Latest] = []

    def of(
        self, session: Session, setting: Setting, workspace: Workspace, metric: str, points: int
    ) -> Mapping[str, Curve | CostLabError]:
        """Curves of the shown programs by target, ``metric`` among their values.

        Args:
            session: what is shown: programs, range, metrics.
            setting: sizes and device; the session's own or its reference.
            workspace: formulas and machines.
            metric: one of ``prediction.grid.METRICS``.
            points: how many sizes a curve has.
        """
        asked = (Same(session), Same(setting), workspace.version, points)
        # The panels of a frame ask one after the other.
        for latest in self._latest:
            if latest.asked == asked and metric in latest.metrics:
                return latest.found
        question = _question(session, setting, workspace, metric, points)
        found = next((found for known, found in self._known if known == question), None)
        if found is None:
            found = _answer(session, question)
            self._known = [*self._known[1 - _KEPT :], (question, found)]
        self._latest = [*self._latest[-1:], _Latest(asked, question.metrics, found)]
        return found


@dataclass(frozen=True, slots=True)
class _Latest:
    """What was asked last: session, setting, version of the workspace, points."""

    asked: tuple[Same, Same, int, int]
    metrics: tuple[str, ...]
    found: dict[str, Curve | CostLabError]


@dataclass(frozen=True, slots=True)
class _Question:
    """What curves depend on; formulas and machines are the same if they are the same objects."""

    programs: tuple[tuple[str, Same | _Failed], ...]
    machine: Same | _Failed
    sizes: Mapping[str, int]
    axis: tuple[str, int, int, bool, int]
    metrics: tuple[str, ...]
    hands: float | None


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why there are no formulas, or no machine."""

    text: str
    error: CostLabError = field(compare=False)


def _question(
    session: Session, setting: Setting, workspace: Workspace, metric: str, points: int
) -> _Question:
    metrics = dict.fromkeys([*(m for m in session.metrics if m in METRICS), metric])
    machine: Same | _Failed
    try:
        machine = Same(workspace.machine(setting))
    except CostLabError as error:
        machine = _Failed(str(error), error)
    programs: list[tuple[str, Same | _Failed]] = []
    for target in session.shown:
        try:
            programs.append((target, Same(workspace.derivation(target, setting))))
        except CostLabError as error:
            programs.append((target, _Failed(str(error), error)))
    sizes = dict(setting.sizes)
    if setting.threads is not None:
        sizes["threads"] = setting.threads
    return _Question(
        tuple(programs),
        machine,
        sizes,
        (session.over, session.low, session.high, session.log_x, points),
        tuple(metrics),
        session.hands,
    )


def _answer(session: Session, question: _Question) -> dict[str, Curve | CostLabError]:
    found: dict[str, Curve | CostLabError] = {}
    wanted: dict[str, Wanted] = {}
    for target, formulas in question.programs:
        if isinstance(formulas, _Failed):
            found[target] = formulas.error
            continue
        try:
            wanted[target] = _wanted(session, question, formulas.item)
        except CostLabError as error:
            found[target] = error
    machine = question.machine
    known = isinstance(machine, Same)
    results = curves(
        list(wanted.values()),
        session.over,
        [metric for metric in question.metrics if metric != "time" or known],
        machine.item if isinstance(machine, Same) else None,
        hands=session.hands,
    )
    for (target, item), values in zip(wanted.items(), results, strict=True):
        own: dict[str, Values | CostLabError] = dict(values)
        if "time" in question.metrics and isinstance(machine, _Failed):
            own["time"] = machine.error
        found[target] = Curve(item.values, own)
    return found


def _wanted(session: Session, question: _Question, derivation: Derivation) -> Wanted:
    if session.over not in derivation.sizes:
        raise SizeError(_("does not depend on {name}").format(name=session.over))
    own = {name: v for name, v in question.sizes.items() if name in derivation.sizes}
    sizes = own_sizes(derivation, own, session.over)
    if "threads" in question.sizes:
        sizes["threads"] = question.sizes["threads"]
    points = question.axis[-1]
    return Wanted(derivation, sizes_over(derivation, session, own, points), sizes)


def sizes_over(
    derivation: Derivation, session: Session, sizes: Mapping[str, int], points: int
) -> NDArray[np.float64]:
    """The sizes of the x axis at which a curve is evaluated: those where formulas hold smoothly."""
    step = lattice_step(derivation, session.over, sizes)
    low, high = max(session.low, 1), max(session.high, session.low + 1)
    return _grid(low, high, step, session.log_x, points)


@lru_cache(maxsize=64)
def _grid(low: int, high: int, step: int, log: bool, points: int) -> NDArray[np.float64]:
    even = np.geomspace(low, high, points) if log else np.linspace(low, high, points)
    # Widths that do not fill vectors take longer: they would put teeth on a curve of time.
    whole = math.lcm(step, PERIOD)
    rough = even >= _FROM_PERIODS * whole
    found = np.where(rough, np.round(even / whole) * whole, np.round(even / step) * step)
    kept = found[(found >= low) & (found <= high) & (found > 0)]
    # np.unique would load numpy's masked arrays, a twentieth of a second at the start.
    grid: NDArray[np.float64] = np.array(sorted(set(kept.tolist())), dtype=np.float64)
    grid.flags.writeable = False
    return grid
