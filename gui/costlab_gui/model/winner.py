"""The map page as data: who is cheapest where, by how much, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from costlab.errors import CostLabError
from costlab.figures.build import map_figure
from costlab.figures.spec import MapSpec
from costlab.i18n import _
from costlab.prediction.grid import Array
from costlab.prediction.maps import winner_map
from costlab.symbols import describe
from costlab.units import format_percent, format_ratio, format_value
from costlab_gui.model.amounts import quantity
from costlab_gui.model.explore import UNITS, metric_title
from costlab_gui.model.formula import times_at
from costlab_gui.model.place import locate
from costlab_gui.model.roofline import limiter_text
from costlab_gui.model.session import Session
from costlab_gui.model.sizes import SizeLine, sizes_of
from costlab_gui.model.workspace import Workspace

CELLS = 96
_FIELDS: Mapping[str, str] = {
    "memory": "peak_bytes", "flop": "flop", "bytes": "bytes"
}  # fmt: skip
_FRAMES: Mapping[str, tuple[int, int]] = {
    "n": (64, 262_144), "m": (64, 262_144), "d": (64, 16_384), "w": (8, 16_384), "b": (1, 512),
    "h": (1, 128), "L": (1, 128),
}  # fmt: skip
_LARGEST = 65_536
_BITS = 4


@dataclass(frozen=True, slots=True)
class Map:
    """A figure, and whose colour is whose; ``figure`` is None where ``why`` says so.

    ``problems`` says why a shown program is not on the map.
    """

    figure: MapSpec | None
    targets: tuple[str, ...]
    problems: Mapping[str, str]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Contender:
    """A program in one cell."""

    target: str
    title: str
    value: float
    limiter: str


def variables(session: Session, workspace: Workspace) -> tuple[SizeLine, ...]:
    """The sizes that can be an axis."""
    return sizes_of(session, workspace).lines


def winners(session: Session, workspace: Workspace, cells: int = CELLS) -> Map:
    """Who is cheapest in ``session.map_metric`` over the two sizes of ``session.map_over``."""
    setting, metric = session.setting, session.map_metric
    x_name, y_name = session.map_over
    if x_name == y_name:
        return Map(None, (), {}, _("choose two different sizes"))
    found, targets, problems = [], [], {}
    machine = None
    try:
        if metric == "time":
            machine = workspace.machine(setting)
    except CostLabError as error:
        return Map(None, (), {}, str(error))
    fixed = {k: v for k, v in setting.sizes.items() if k not in session.map_over}
    x, y = (axis_values(session, name, cells) for name in session.map_over)
    for target in session.shown:
        try:
            derivation = workspace.derivation(target, setting)
            # One cell tells whether it can be placed at all.
            winner_map([derivation], session.map_over, x[:1], y[:1], fixed, machine, metric)
        except CostLabError as error:
            problems[target] = str(error)
            continue
        found.append(derivation)
        targets.append(target)
    if len(found) < 2:
        return Map(None, tuple(targets), problems, _("a map compares two architectures or more"))
    spec = map_figure(winner_map(found, session.map_over, x, y, fixed, machine, metric))
    return Map(
        replace(
            spec,
            title=_("Cheapest in {metric}, {mode}, {dtype}").format(
                metric=metric_title(metric).lower(), mode=setting.mode, dtype=setting.dtype
            ),
            names=tuple(workspace.title(target) for target in targets),
            colours=tuple(session.colour(target) for target in targets),
        ),
        tuple(targets),
        problems,
    )


def rests_on(session: Session) -> tuple[object, ...]:
    """What a map depends on: as long as it stays, the map does."""
    setting = session.setting
    fixed = sorted((k, v) for k, v in setting.sizes.items() if k not in session.map_over)
    frame = [axis_values(session, name, 2).tolist() for name in session.map_over]
    return (
        session.shown, session.programs, session.map_over, session.map_metric, setting.mode,
        setting.dtype, setting.device, setting.threads, tuple(sorted(setting.options.items())),
        tuple(fixed), frame,
    )  # fmt: skip


def here(session: Session) -> tuple[float, float] | None:
    """The current sizes as a place on the map; None where one of them is not set."""
    x, y = (session.sizes.get(name) for name in session.map_over)
    return None if x is None or y is None else (float(x), float(y))


def axis_values(session: Session, name: str, cells: int) -> Array:
    """Sizes of an axis, even in the logarithm; the frame stays while the size is dragged."""
    if name == session.over:
        low, high = session.low, session.high
    else:
        known = describe(name)
        top = known.maximum if known and known.maximum else _LARGEST
        low, high = _FRAMES.get(name, (1, min(top, _LARGEST)))
    now = session.sizes.get(name, low)
    while now < low:
        low = max(low // 4, 1)
    while now > high:
        high *= 4
    return np.geomspace(low, max(high, low + 1), cells)


def allowed_sizes(session: Session, workspace: Workspace, x: float, y: float) -> dict[str, int]:
    """Round sizes near a place on the map (within 3 %) that the programs can take."""
    lines = {line.name: line for line in variables(session, workspace)}
    found = {}
    for name, value in zip(session.map_over, (x, y), strict=True):
        unit = 2.0 ** max(math.floor(math.log2(max(value, 1.0))) - _BITS, 0)
        size = max(round(value / unit), 1) * int(unit)
        found[name] = lines[name].snap.valid(size) if name in lines else size
    return found


def contenders(
    session: Session, workspace: Workspace, found: Map, sizes: Mapping[str, int]
) -> list[Contender]:
    """The programs of a map at ``sizes``, the cheapest first; those without a formula left out."""
    rows = []
    for target in found.targets:
        place = locate(session.setting, workspace, target, sizes)
        if place.problem:
            continue
        if session.map_metric == "time":
            times = times_at(place)
            value: float | None = float(times.total_s)
            limiter = limiter_text(times.limiter())
        else:
            value, limiter = quantity(place, _FIELDS[session.map_metric]), ""
        if value is not None:
            rows.append(Contender(target, workspace.title(target), value, limiter))
    return sorted(rows, key=lambda row: row.value)


def explain(rows: Sequence[Contender], session: Session, decided: bool) -> str:
    """Who wins, by how much over the second, and what bounds each of them."""
    if not rows:
        return _("no architecture has a formula here")
    unit = UNITS[session.map_metric]
    best = rows[0]
    text = _("{name} with {value}{limiter}").format(
        name=best.title, value=format_value(best.value, unit), limiter=_bound(best)
    )
    if len(rows) == 1:
        return _("{best}; nothing else has a formula here").format(best=text)
    second = rows[1]
    rival = _("{name} takes {factor} of that{limiter}").format(
        name=second.title,
        factor=_factor(second.value / best.value if best.value else math.inf),
        limiter=_bound(second),
    )
    sure = "" if decided else _("; the intervals overlap: too close to tell")
    return f"{text}; {rival}{sure}"


def _bound(row: Contender) -> str:
    return _(", bound by {limiter}").format(limiter=row.limiter) if row.limiter else ""


def _factor(ratio: float) -> str:
    """1.04 as "104 %", 3.2 as "3.2x"."""
    return format_percent(round(ratio, 3)) if ratio < 2 else format_ratio(ratio)
