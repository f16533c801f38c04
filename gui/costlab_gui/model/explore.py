"""The curves page as data: figures, what cannot be drawn and why, and the read-out at one size."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.errors import CostLabError, InputError, SizeError
from costlab.figures.build import size_axis
from costlab.figures.numbers import Numbers
from costlab.figures.spec import LINEAR, LOG, MEASURED, PREDICTED, Axis, FigureSpec, Mark, Series
from costlab.formulas.identity import Same, cached_by_identity
from costlab.formulas.record import Derivation
from costlab.i18n import _
from costlab.prediction.api import predict
from costlab.prediction.grid import METRICS as PREDICTABLE
from costlab.prediction.record import Prediction
from costlab_gui.model.curves import Curve
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.stored import fitting
from costlab_gui.model.workspace import NotDerived, Workspace

POINTS = 256
UNITS: Mapping[str, str] = {
    "time": "s", "memory": "B", "flop": "FLOP", "bytes": "B", "state": "B", "energy": "J"
}  # fmt: skip


def metric_title(metric: str) -> str:
    """What people call a metric."""
    return {
        "time": _("Time"),
        "memory": _("Memory"),
        "flop": _("FLOP"),
        "bytes": _("Bytes moved"),
        "state": _("State"),
        "energy": _("Energy"),
    }[metric]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot, and for every program that is not on it the reason."""

    metric: str
    figure: FigureSpec
    problems: Mapping[str, str]
    waiting: tuple[NotDerived, ...] = ()


def panel(
    session: Session,
    workspace: Workspace,
    metric: str,
    measured: Sequence[Mapping[str, Any]] = (),
    points: int = POINTS,
) -> Panel:
    """The figure of ``metric`` over ``session.over``.

    Args:
        session: what to show.
        workspace: formulas and machines.
        metric: one of ``session.METRICS``.
        measured: stored points (as ``costlab profile --json`` prints them); those of the shown
            programs at the session's setting are drawn.
        points: how many sizes each curve has.
    """
    series: list[Series] = []
    problems: dict[str, str] = {}
    waiting: list[NotDerived] = []
    known = metric in PREDICTABLE
    curves, compared = (
        workspace.curves.of(session, setting, workspace, metric, points)
        if known and setting is not None
        else {}
        for setting in (session.setting, session.reference)
    )
    for target in session.shown:
        try:
            series.append(_predicted(session, workspace, target, metric, curves))
        except NotDerived as missing:
            waiting.append(missing)
            problems[target] = str(missing.message)
        except CostLabError as error:
            problems[target] = str(error)
        if session.reference is not None:
            try:
                series.append(_predicted(session, workspace, target, metric, compared, True))
            except CostLabError as error:
                problems.setdefault(target, _("B: {error}").format(error=error))
        series += _measured(session, workspace, target, metric, measured)
    figure = FigureSpec(
        title=f"{metric_title(metric)}, {session.setting.mode}",
        x=_axis(session.over, session.log_x),
        y=Axis(_y_label(metric, session), UNITS[metric], LOG if session.log_y else LINEAR),
        series=tuple(series),
        marks=_marks(session, workspace, metric),
        caption=_caption(session),
    )
    return Panel(metric, figure, problems, tuple(waiting))


def read_out(
    session: Session,
    workspace: Workspace,
    at: int | None = None,
    doubled: Mapping[str, Collection[str]] | None = None,
) -> tuple[dict[str, Prediction], dict[str, str]]:
    """Predictions of the shown programs at one size of ``session.over``, and why some are missing.

    They are those of ``costlab predict``. ``at`` is None for the size that the sliders show.
    ``doubled`` says for which programs and sizes the factors of doubling are wanted; None: all.
    """
    found: dict[str, Prediction] = {}
    problems: dict[str, str] = {}
    for target in session.shown:
        try:
            found[target] = read_one(session, workspace, target, at, doubled)
        except CostLabError as error:
            problems[target] = str(error)
    return found, problems


def read_one(
    session: Session,
    workspace: Workspace,
    target: str,
    at: int | None,
    doubled: Mapping[str, Collection[str]] | None = None,
) -> Prediction:
    """One of :func:`read_out`, which are kept: asking again costs nothing.

    Raises:
        CostLabError: if there is none.
    """
    sizes = {session.over: at} if at else {}
    wanted = None if doubled is None else doubled.get(target, ())
    return point(session.setting, workspace, target, sizes, wanted)


def point(
    setting: Setting,
    workspace: Workspace,
    target: str,
    sizes: Mapping[str, int],
    doubled: Collection[str] | None = None,
) -> Prediction:
    """The prediction of one program at the sizes of ``setting``, some of them replaced.

    Raises:
        CostLabError: if there is none.
    """
    derivation = workspace.derivation(target, setting)
    own = _known(derivation, {**setting.sizes, **sizes})
    found = _prediction(
        Same(derivation),
        tuple(own.items()),
        Same(workspace.machine(setting)),
        setting.threads,
        None if doubled is None else tuple(doubled),
    )
    if isinstance(found, CostLabError):
        raise found.with_traceback(None)
    return found


@lru_cache(maxsize=128)
def _prediction(
    derivation: Same,
    sizes: tuple[tuple[str, int], ...],
    machine: Same,
    threads: int | None,
    doubled: tuple[str, ...] | None,
) -> Prediction | CostLabError:
    try:
        return predict(derivation.item, dict(sizes), machine.item, threads=threads, doubled=doubled)
    except CostLabError as error:
        return error


def _known(derivation: Derivation, sizes: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in sizes.items() if name in derivation.sizes}


def _predicted(
    session: Session,
    workspace: Workspace,
    target: str,
    metric: str,
    curves: Mapping[str, Curve | CostLabError],
    faint: bool = False,
) -> Series:
    if metric not in PREDICTABLE:
        raise InputError(_("energy is measured, not predicted yet"))
    found = curves[target]
    if isinstance(found, CostLabError):
        raise found
    x, values = found.x, found.values[metric]
    if isinstance(values, CostLabError):
        raise values
    good = np.isfinite(values.value)
    everywhere = bool(good.all())
    if not everywhere and not good.any():
        raise SizeError(
            _("no formula between these sizes"), given=f"{session.over}={session.low}.."
        )

    def kept(numbers: NDArray[np.float64]) -> tuple[float, ...]:
        return Numbers.of(numbers if everywhere else numbers[good])

    banded = metric == "time" and not faint and bool(np.isfinite(values.high[good]).all())
    return Series(
        name=workspace.title(target) + (_(" (B)") if faint else ""),
        x=_numbers(x) if everywhere else kept(x),
        y=kept(values.value),
        kind=PREDICTED,
        colour=session.colour(target),
        low=kept(values.low) if banded else (),
        high=kept(values.high) if banded else (),
        faint=faint,
    )


@cached_by_identity(256)
def _numbers(array: NDArray[np.float64]) -> tuple[float, ...]:
    """The numbers of the sizes of an axis, which many curves and frames share."""
    return Numbers.of(array)


_FIELDS: Mapping[str, str] = {"time": "time_s", "memory": "peak_bytes", "energy": "energy_j"}


def _measured(
    session: Session,
    workspace: Workspace,
    target: str,
    metric: str,
    points: Sequence[Mapping[str, Any]],
) -> list[Series]:
    field = _FIELDS.get(metric)
    found = fitting(points, session, target) if field is not None else ()
    if field is None or not found:
        return []
    name = _("{name}, measured").format(name=workspace.title(target))
    series = _drawn(Same(found), session.over, field, name, session.colour(target))
    return [series] if series is not None else []


@lru_cache(maxsize=256)
def _drawn(points: Same, over: str, field: str, name: str, colour: int) -> Series | None:
    """The points that have a value of ``field``, along ``over``; None without any."""
    found = [point for point in points.item if point.get(field) is not None]
    if not found:
        return None
    found.sort(key=lambda point: point["sizes"][over])
    bars = [point.get("time_interval_s") for point in found] if field == "time_s" else []
    whole = bool(bars) and all(bar is not None for bar in bars)
    return Series(
        name=name,
        x=tuple(float(point["sizes"][over]) for point in found),
        y=tuple(float(point[field]) for point in found),
        kind=MEASURED,
        colour=colour,
        low=tuple(float(bar[0]) for bar in bars if bar) if whole else (),
        high=tuple(float(bar[1]) for bar in bars if bar) if whole else (),
    )


def _axis(over: str, log: bool) -> Axis:
    axis = size_axis(over)
    return Axis(axis.label, axis.unit, LOG if log else LINEAR)


def _y_label(metric: str, session: Session) -> str:
    if metric == "time":
        what = {
            "forward": _("time per forward pass"),
            "train": _("time per training step"),
            "prefill": _("time per prefill"),
            "decode": _("time per token"),
        }
        return what[session.setting.mode]
    return {
        "memory": _("peak memory"),
        "flop": _("FLOP"),
        "bytes": _("bytes moved"),
        "state": _("bytes of state"),
        "energy": _("energy"),
    }[metric]


def _marks(session: Session, workspace: Workspace, metric: str) -> tuple[Mark, ...]:
    found = []
    budget = session.budget
    if metric == "memory":
        try:
            capacity = workspace.machine(session.setting).capacity_bytes
        except CostLabError:
            capacity = None
        if capacity:
            found.append(Mark("y", capacity, _("memory of the device")))
        if budget.memory_bytes:
            found.append(Mark("y", budget.memory_bytes, _("budget")))
    if metric == "time" and budget.time_s:
        found.append(Mark("y", budget.time_s, _("budget")))
    if metric == "energy" and budget.energy_j:
        found.append(Mark("y", budget.energy_j, _("budget")))
    return tuple(found)


def _caption(session: Session) -> str:
    sizes = ", ".join(f"{k}={v}" for k, v in session.sizes.items() if k != session.over)
    return f"{session.setting.dtype}, {sizes}"
