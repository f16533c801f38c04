"""The roofline page as data: the machine's roofs, and programs or operators below them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from costlab.errors import CostLabError
from costlab.figures.spec import Roof, RooflineSpec, RoofPoint
from costlab.i18n import _
from costlab.prediction.timing import GroupTime
from costlab_gui.model.amounts import formula, line, number, quantity, total
from costlab_gui.model.formula import operator_title, seconds_of, times_at
from costlab_gui.model.place import Place, locate
from costlab_gui.model.roofs import Level, Roofs, roofs_of
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Row:
    """One program or operator.

    Attributes:
        intensity: FLOP per byte; 0 for what only moves bytes, which no plot can show.
        rate: FLOP/s that are predicted.
        attainable: FLOP/s below the roofs at this intensity.
        level: where its working set lies.
        calls: operators that run.
        share: of the time of what is shown: of the slowest program, or of the program's operators.
        formula: how the bytes were obtained.
    """

    name: str
    target: str
    colour: int
    intensity: float
    rate: float
    attainable: float
    level: str
    limiter: str
    calls: float
    time_s: float
    share: float
    flop: float
    bytes: float
    formula: str

    @property
    def of_roof(self) -> float:
        """Share of the attainable rate; 0 without arithmetic."""
        return self.rate / self.attainable if self.attainable else 0.0


@dataclass(frozen=True, slots=True)
class Roofline:
    """A figure and its numbers; ``problems`` says why a program is missing.

    ``levels`` are the names of all levels of memory, drawn or not, from the nearest outwards.
    """

    figure: RooflineSpec | None
    rows: tuple[Row, ...]
    problems: Mapping[str, str]
    notes: tuple[str, ...]
    levels: tuple[str, ...] = ()


def roofline(
    session: Session,
    workspace: Workspace,
    operators: bool = False,
    without: Collection[str] = (),
) -> Roofline:
    """Place the shown programs, or the operators of the selected one, at the current sizes.

    ``without`` names levels of memory that are left out; see :meth:`Roofs.without`.
    """
    setting = session.setting
    try:
        whole = roofs_of(workspace.machine(setting), setting.dtype)
        roofs = whole.without(without)
    except CostLabError as error:
        return Roofline(None, (), {}, (str(error),))
    problems: dict[str, str] = {}
    rows: list[Row] = []
    targets = (session.selected,) if operators else session.shown
    for target in targets:
        try:
            place = locate(setting, workspace, target)
        except CostLabError as error:
            problems[target] = str(error)
            continue
        if place.problem:
            problems[target] = place.problem
            continue
        colour = session.colour(target) if target in session.programs else 0
        if operators:
            rows += _operators(place, roofs, colour)
        else:
            rows.append(_program(place, roofs, workspace.title(target), colour))
    slowest = max((row.time_s for row in rows), default=0.0)
    if not operators and slowest:
        rows = [replace(row, share=row.time_s / slowest) for row in rows]
    found = notes(roofs, rows, operators)
    title = (
        _("Operators of {name}, {mode}, {dtype}").format(
            name=workspace.title(session.selected), mode=setting.mode, dtype=setting.dtype
        )
        if operators
        else _("Roofline, {mode}, {dtype}").format(mode=setting.mode, dtype=setting.dtype)
    )
    figure = RooflineSpec(
        title=title,
        slopes=tuple(Roof(level.name, level.bytes_per_s, level.faint) for level in roofs.levels),
        flats=tuple(Roof(name, rate) for name, rate in roofs.flats.items()),
        points=tuple(
            RoofPoint(row.name, row.intensity, row.rate, row.colour, row.share)
            for row in rows
            if row.intensity > 0 and row.rate > 0
        ),
        caption=" ".join(found),
    )
    levels = tuple(level.name for level in whole.levels)
    return Roofline(figure, tuple(rows), problems, found, levels)


def notes(roofs: Roofs, rows: list[Row], operators: bool) -> tuple[str, ...]:
    """What the picture means, and what it leaves out."""
    found = [
        _("Bytes are the operands that the operators address; no cache is modelled beyond the "
          "levels drawn.")
    ]  # fmt: skip
    found += roofs.notes
    still = [row for row in rows if row.intensity == 0]
    if still:
        found.append(
            _("{count} only move bytes and are in the table alone: {names}.").format(
                count=len(still), names=", ".join(row.name for row in still)
            )
        )
    if any(row.of_roof > 1.005 for row in rows):
        found.append(_("Over 100 %: operands that lie nearer than the working set is large."))
    found.append(
        _("The area of a point is its share of the time of all operators.")
        if operators
        else _("The area of a point is its time beside that of the slowest.")
    )
    return tuple(found)


def limiter_text(name: str) -> str:
    """What people call a limiter."""
    return {
        "compute": _("compute"),
        "memory": _("memory"),
        "launch": _("launches"),
        "latency": _("waiting for steps"),
    }[name]


def _program(place: Place, roofs: Roofs, name: str, colour: int) -> Row:
    times = times_at(place)
    size = quantity(place, "bytes") or 0.0
    return _row(
        roofs,
        roofs.level(quantity(place, "peak_bytes") or size),
        name=name,
        target=place.target,
        colour=colour,
        flop=quantity(place, "flop") or 0.0,
        size=size,
        seconds=float(times.total_s),
        limiter=times.limiter(),
        calls=quantity(place, "launches") or 0.0,
        share=1.0,
        formula=formula(place, "bytes"),
    )


def _operators(place: Place, roofs: Roofs, colour: int) -> list[Row]:
    """One row per operator and phase, the longest first."""
    times = times_at(place)
    together: dict[tuple[str, str], list[GroupTime]] = {}
    for part in times.groups:
        name = operator_title(part.group.op)
        together.setdefault((name, part.group.phase), []).append(part)
    phases = {phase for _name, phase in together}
    whole = seconds_of(times.groups) or 1.0
    rows = []
    for (name, phase), parts in together.items():
        seconds = seconds_of(parts)
        moved = total(p.group.calls * p.group.bytes for p in parts)
        rows.append(
            _row(
                roofs,
                roofs.level(max(number(place, p.group.bytes) for p in parts)),
                name=name + (f" · {phase}" if len(phases) > 1 else ""),
                target=place.target,
                colour=colour,
                flop=number(place, total(p.group.calls * p.group.flop for p in parts)),
                size=number(place, moved),
                seconds=seconds,
                limiter=_limiter(parts),
                calls=sum(float(p.calls) for p in parts),
                share=seconds / whole,
                formula=line(moved),
            )
        )
    return sorted(rows, key=lambda row: -row.time_s)


def _limiter(parts: Sequence[GroupTime]) -> str:
    seconds = {
        "compute": sum(float(p.work_s) for p in parts if p.compute_s >= p.memory_s),
        "memory": sum(float(p.work_s) for p in parts if p.compute_s < p.memory_s),
        "launch": sum(float(p.launch_s) for p in parts),
    }
    return max(seconds, key=lambda name: seconds[name])


def _row(
    roofs: Roofs,
    level: Level,
    *,
    name: str,
    target: str,
    colour: int,
    flop: float,
    size: float,
    seconds: float,
    limiter: str,
    calls: float,
    share: float,
    formula: str,
) -> Row:
    intensity = flop / size if size else 0.0
    return Row(
        name=name,
        target=target,
        colour=colour,
        intensity=intensity,
        rate=flop / seconds if seconds else 0.0,
        attainable=min(roofs.highest, intensity * level.bytes_per_s),
        level=level.name,
        limiter=limiter,
        calls=calls,
        time_s=seconds,
        share=share,
        flop=flop,
        bytes=size,
        formula=formula,
    )
