"""What is to be measured: points from the session, how long they take, and which would not fit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from costlab.arch import registry
from costlab.devices import fingerprint
from costlab.errors import CostLabError, InputError
from costlab.i18n import _
from costlab.units import format_value
from costlab_gui.model.duration import START_S, about, seconds_of
from costlab_gui.model.predicted import predicted
from costlab_gui.model.session import THIS_MACHINE, Session, Setting
from costlab_gui.model.size_lists import values_of
from costlab_gui.model.wording import conditions
from costlab_gui.model.workspace import NotDerived, Workspace

TOO_LARGE, OUTSIDE, UNKNOWN = "too large", "outside", "unknown"
MOST_POINTS = 500

_RUNTIME_BYTES = 300 * 2**20


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asks for beside the session.

    Attributes:
        values: sizes of ``session.over`` as on the command line ("256:8k:x2,5000").
        repeats: timed processes of each point.
        budget_s: for the whole sweep; None: what it takes.
        energy: whether to measure it too, where the device has a counter.
        all: measure also what would not fit into memory or is outside a formula's domain.
    """

    values: str
    repeats: int = 5
    budget_s: float | None = None
    energy: bool = False
    all: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """One point before it is measured, with its predicted time and peak (None without).

    ``problem`` is one of the constants above or "", with the reason in ``why``.
    """

    target: str
    sizes: Mapping[str, int]
    options: Mapping[str, bool]
    time_s: float | None
    peak_bytes: float | None
    problem: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """Points to measure and points that are left out.

    Attributes:
        points: in the order of the programs.
        left_out: too large, or outside the formulas' domain.
        seconds: about how long all of it takes; with a budget at most that.
        free_bytes: memory that was free.
    """

    points: tuple[Planned, ...]
    left_out: tuple[Planned, ...]
    seconds: float
    free_bytes: int | None

    def summary(self) -> str:
        """One line: how many points, about how long, and what was left out."""
        if not self.points:
            return _("nothing to measure")
        count = (
            _("1 point") if len(self.points) == 1
            else _("{count} points").format(count=len(self.points))
        )  # fmt: skip
        parts = [count, _("about {time}").format(time=about(self.seconds))]
        guessed = sum(one.time_s is None for one in self.points)
        if guessed:
            parts.append(_("{count} without a prediction").format(count=guessed))
        return " · ".join(parts)


def why_not_here(setting: Setting) -> str:
    """Why nothing can be measured for the session's device; "" if it can."""
    if setting.device in (THIS_MACHINE, "cpu"):
        return ""
    if setting.device.startswith("cuda"):
        if (fingerprint().torch or "+cpu").endswith("+cpu"):
            return _("The installed torch has no CUDA, so nothing can be measured on a GPU here.")
        return ""
    return _(
        "The session shows {device}. Only this machine can be measured here; choose it as the "
        "device."
    ).format(device=setting.device)


def device_here(setting: Setting) -> str:
    """The device's name for ``costlab profile``."""
    return setting.device if setting.device.startswith("cuda") else "cpu"


def plan(
    session: Session,
    workspace: Workspace,
    wish: Wish,
    free_bytes: int | None = None,
    energy_counter: bool = False,
) -> MeasurePlan:
    """The points of the shown programs at the wished sizes.

    Args:
        session: programs, mode, dtype, threads and the other sizes.
        workspace: formulas and machines.
        wish: what else was asked for.
        free_bytes: memory that is free now; None if unknown.
        energy_counter: whether the device has one.

    Raises:
        InputError: if there is nothing to measure, too much, or a bad value.
    """
    if not session.shown:
        raise InputError(_("no architecture is shown"), advice=_("check one in the list"))
    values = values_of(session, wish.values)
    if len(values) * len(session.shown) > MOST_POINTS:
        raise InputError(
            _("too many points"),
            given=str(len(values) * len(session.shown)),
            allowed=str(MOST_POINTS),
        )
    energy = wish.energy and energy_counter
    found = [
        _checked(one, free_bytes)
        for target in session.shown
        for one in _of_program(session, workspace, target, values)
    ]
    left_out = [] if wish.all else [one for one in found if one.problem in (TOO_LARGE, OUTSIDE)]
    points = [one for one in found if one not in left_out]
    seconds = START_S + sum(seconds_of(one.time_s, wish.repeats, energy) for one in points)
    if wish.budget_s is not None:
        # With a budget more processes are timed, until the interval is tight.
        seconds = wish.budget_s
    return MeasurePlan(tuple(points), tuple(left_out), seconds, free_bytes)


def sweep_text(measured: MeasurePlan, setting: Setting, threads: int, wish: Wish) -> str:
    """The plan as a sweep file of ``costlab profile``."""
    lines = [f"repeats = {wish.repeats}", f"energy = {_toml(wish.energy)}"]
    if wish.budget_s is not None:
        lines.append(f'budget = "{wish.budget_s:g}s"')
    for one in measured.points:
        lines += [
            "",
            "[[points]]",
            f"target = {_toml(one.target)}",
            f"mode = {_toml(setting.mode)}",
            f"dtype = {_toml(setting.dtype)}",
            f"device = {_toml(device_here(setting))}",
            f"threads = {threads}",
            f"sizes = {_table(one.sizes)}",
        ]
        if one.options:
            lines.append(f"options = {_table(one.options)}")
    return "\n".join(lines) + "\n"


def _of_program(
    session: Session, workspace: Workspace, target: str, values: tuple[int, ...]
) -> list[Planned]:
    """Points of one program; one that does not depend on the size is measured once."""
    setting = session.setting
    if not _has(workspace, setting, target, session.over):
        values = (session.sizes.get(session.over, values[0]),)
    points = [
        {
            name: size
            for name, size in {**setting.sizes, session.over: value}.items()
            if _has(workspace, setting, target, name)
        }
        for value in values
    ]
    nothing: list[float | None] = [None] * len(points)
    times, peaks, why = nothing, nothing, ""
    try:
        peaks = predicted(workspace, setting, target, points, "memory")
        times = predicted(workspace, setting, target, points, "time")
    except CostLabError as error:
        why = str(error)
    options = _options(setting, target)
    return [
        Planned(
            target, sizes, options, time_s, peak, *_problem(workspace, setting, target, peak, why)
        )
        for sizes, time_s, peak in zip(points, times, peaks, strict=True)
    ]


def _problem(
    workspace: Workspace, setting: Setting, target: str, peak: float | None, why: str
) -> tuple[str, str]:
    if why:
        return UNKNOWN, why
    if peak is not None:
        return "", ""
    domain = workspace.derivation(target, setting).classes[0].domain
    return OUTSIDE, _("no formula holds here; {domain}").format(domain=conditions(domain))


def _checked(one: Planned, free_bytes: int | None) -> Planned:
    """``one``, marked if its memory would not be there."""
    needed = (one.peak_bytes or 0) + _RUNTIME_BYTES
    if free_bytes is None or one.peak_bytes is None or needed <= free_bytes:
        return one
    why = _("needs {needed}, {free} are free").format(
        needed=format_value(needed, "B"), free=format_value(free_bytes, "B")
    )
    return replace(one, problem=TOO_LARGE, why=why)


def _has(workspace: Workspace, setting: Setting, target: str, name: str) -> bool:
    """Whether a program has a size; of one without formulas the catalogue or nobody knows."""
    try:
        return name in workspace.derivation(target, setting).sizes
    except NotDerived:
        return True
    except CostLabError:
        return target not in registry.names() or name in registry.spec(target).symbols


def _options(setting: Setting, target: str) -> Mapping[str, bool]:
    """The flags of the setting that a program has."""
    if target not in registry.names():
        return {}
    known = registry.spec(target).options
    return {name: value for name, value in setting.options.items() if value and name in known}


def _table(values: Mapping[str, object]) -> str:
    return "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in values.items()) + " }"


def _toml(value: object) -> str:
    # JSON's strings, numbers and truth values are TOML's too.
    return json.dumps(value)
