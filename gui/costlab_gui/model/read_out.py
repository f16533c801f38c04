"""The table of the values at one size: every shown program, in words and as numbers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from costlab.errors import CostLabError
from costlab.hardware.machine import DATASHEET
from costlab.i18n import _
from costlab.prediction.record import Prediction
from costlab.prediction.search import lattice_step
from costlab.units import format_count, format_percent, format_ratio, format_value
from costlab_gui.model.explore import read_one, read_out
from costlab_gui.model.session import Session
from costlab_gui.model.stored import fitting
from costlab_gui.model.workspace import Workspace

PROGRAM, PREDICTED, SPREAD, MEASURED, ERROR, PEAK, FLOP, STATE, BOUND = (
    "program", "predicted", "spread", "measured", "error", "peak", "flop", "state", "bound"
)  # fmt: skip
_UNITS: Mapping[str, str] = {PREDICTED: "s", MEASURED: "s", PEAK: "B", FLOP: "FLOP", STATE: "B"}
_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Row:
    """One program: what is shown in each column, and the numbers behind it in base units.

    ``problem`` says why there is no prediction; ``prediction`` is None then.
    """

    target: str
    title: str
    colour: int
    texts: Mapping[str, str]
    values: Mapping[str, float | str | None]
    problem: str = ""
    prediction: Prediction | None = None


@dataclass(frozen=True, slots=True)
class ReadOut:
    """The table at one size.

    Attributes:
        heading: "At n = 8 192".
        columns: key to title, in order.
        rows: one for every shown program.
        doubling: factors by which the selected program's values grow when the size doubles, by
            column; with what it is about under ``PROGRAM``. Empty where nothing is selected.
    """

    heading: str
    columns: Mapping[str, str]
    rows: tuple[Row, ...]
    doubling: Mapping[str, str]

    def to_tsv(self) -> str:
        """The numbers as tab-separated values, with units in the header."""
        keys = list(self.columns)
        head = [self.columns[k] + (f" ({_UNITS[k]})" if k in _UNITS else "") for k in keys]
        lines = [head, *([_plain(row.values.get(key)) for key in keys] for row in self.rows)]
        return "\n".join("\t".join(line) for line in lines) + "\n"


def table(
    session: Session,
    workspace: Workspace,
    at: int | None = None,
    measured: Sequence[Mapping[str, Any]] = (),
) -> ReadOut:
    """The read-out at the size ``at`` of ``session.over``; None: at the size of the sliders.

    The predictions are those of ``costlab predict``. ``measured`` are stored points; those at
    exactly this size are shown.
    """
    found, problems = read_out(session, workspace, at, _doubled(session))
    place = at if at is not None else session.sizes.get(session.over)
    whole = any(fitting(measured, session, target) for target in session.shown)
    bounds = all(one.basis == DATASHEET for one in found.values())
    columns = _columns(session.setting.mode, whole, not bounds)
    rows = tuple(
        _row(session, workspace, target, found.get(target), problems.get(target, ""), seconds)
        for target, seconds in (
            (target, _measured_time(session, target, place, measured)) for target in session.shown
        )
    )
    heading = (
        _("At {name} = {value}").format(name=session.over, value=format_count(place))
        if place is not None
        else _("At the default sizes")
    )
    if session.hands is not None:
        heading += " · " + _("times at the machine's own width")
    return ReadOut(heading, columns, rows, _doubling(session, workspace, found))


def pieces(session: Session, workspace: Workspace, at: int | None) -> Iterator[None]:
    """Do what :func:`table` needs a program at a time, so that it costs nothing afterwards."""
    for target in session.shown:
        with contextlib.suppress(CostLabError):
            read_one(session, workspace, target, at, _doubled(session))
        yield


def _doubled(session: Session) -> dict[str, tuple[str, ...]]:
    return {session.selected: (session.over,)}


def snapped(session: Session, workspace: Workspace, size: float) -> int:
    """The whole size nearest to ``size`` at which the formulas of all shown programs hold.

    Where their common step is coarser than the size itself, the nearest whole number.
    """
    steps = []
    for target in session.shown:
        try:
            derivation = workspace.derivation(target, session.setting)
        except CostLabError:
            continue
        if session.over in derivation.sizes:
            own = {k: v for k, v in session.sizes.items() if k in derivation.sizes}
            steps.append(lattice_step(derivation, session.over, own))
    step = math.lcm(*steps, 1)
    if step > size:
        step = 1
    return max(round(size / step) * step, step)


def _columns(mode: str, measured: bool, intervals: bool) -> dict[str, str]:
    """The columns that can say something; they do not depend on the size that is read off."""
    columns = {
        PROGRAM: _("architecture"),
        PREDICTED: _("predicted"),
        SPREAD: _("interval"),
        MEASURED: _("measured"),
        ERROR: _("error"),
        PEAK: _("peak memory"),
        FLOP: _("FLOP"),
        STATE: _("state"),
        BOUND: _("bound by"),
    }
    empty = {STATE: mode != "decode", MEASURED: not measured, ERROR: not measured,
             SPREAD: not intervals}  # fmt: skip
    return {key: title for key, title in columns.items() if not empty.get(key)}


def _row(
    session: Session,
    workspace: Workspace,
    target: str,
    found: Prediction | None,
    problem: str,
    seconds: float | None,
) -> Row:
    title = workspace.title(target)
    values: dict[str, float | str | None] = {PROGRAM: title, MEASURED: seconds}
    texts = {PROGRAM: title, MEASURED: _or_nothing(seconds, "s")}
    if found is not None:
        error = found.time_s / seconds - 1 if seconds else None
        values |= {
            PREDICTED: found.time_s,
            ERROR: error,
            PEAK: found.peak_bytes,
            FLOP: found.flop,
            STATE: found.state_bytes,
            BOUND: found.limiter,
        }
        spread = interval_text(found)
        values[SPREAD] = spread
        bound = found.basis == DATASHEET
        texts |= {
            PREDICTED: ("≥ " if bound else "") + format_value(found.time_s, "s"),
            SPREAD: spread,
            ERROR: _NOTHING if error is None else signed_percent(error),
            PEAK: _or_nothing(found.peak_bytes, "B"),
            FLOP: _or_nothing(found.flop, "FLOP"),
            STATE: _or_nothing(found.state_bytes, "B"),
            BOUND: limiter_text(found.limiter),
        }
    return Row(target, title, session.colour(target), texts, values, problem, found)


def measured_point(
    session: Session, target: str, at: int | None, measured: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """The latest of the stored points that has a time of ``target`` at exactly this size."""
    found = (
        point
        for point in reversed(fitting(measured, session, target))
        if point["sizes"][session.over] == at and point.get("time_s") is not None
    )
    return next(found, None)


def _measured_time(
    session: Session, target: str, at: int | None, measured: Sequence[Mapping[str, Any]]
) -> float | None:
    point = measured_point(session, target, at, measured)
    return None if point is None else float(point["time_s"])


def interval_text(found: Prediction) -> str:
    """ "± 8 %", a range where that would say too little, or that the time is a lower bound."""
    low, high = found.time_interval_s
    if found.basis == DATASHEET:
        return _("lower bound")
    if low is None or high is None or not math.isfinite(high) or not found.time_s:
        return _NOTHING
    share = max(high / found.time_s - 1, 1 - low / found.time_s)
    if share < 0.5:
        return f"± {format_percent(round(share, 3))}"
    return f"{format_value(low, 's')} – {format_value(high, 's')}"


def limiter_text(limiter: str) -> str:
    """What a program is bound by, as people say it."""
    return {
        "compute": _("compute"),
        "memory": _("memory"),
        "launch": _("launches"),
        "latency": _("latency"),
    }.get(limiter, limiter)


def signed_percent(share: float) -> str:
    """ "+2.6 %": how far something is above, or below with a minus sign."""
    return ("+" if share >= 0 else "\N{MINUS SIGN}") + format_percent(round(abs(share), 3))


def _doubling(
    session: Session, workspace: Workspace, found: Mapping[str, Prediction]
) -> dict[str, str]:
    own = found.get(session.selected)
    factors = own.doubling.get(session.over) if own else None
    if not factors:
        return {}
    names = {"time": PREDICTED, "peak_bytes": PEAK, "flop": FLOP, "state_bytes": STATE}
    texts = {
        column: "×" + format_ratio(factors[name]).removesuffix("x")
        for name, column in names.items()
        if factors.get(name) is not None
    }
    texts[PROGRAM] = _("{program}, {name} doubled").format(
        program=workspace.title(session.selected), name=session.over
    )
    return texts


def _or_nothing(value: float | None, unit: str) -> str:
    return _NOTHING if value is None else format_value(value, unit)


def _plain(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)
