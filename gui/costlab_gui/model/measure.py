"""What is to be measured: points from the session, how long they take, and which would not fit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from costlab.arch import registry
from costlab.devices import fingerprint
from costlab.errors import CostLabError, InputError, SizeError
from costlab.i18n import _
from costlab.prediction.record import Prediction
from costlab.symbols import parse_values
from costlab.units import format_value
from costlab_gui.model.explore import point
from costlab_gui.model.session import THIS_MACHINE, Session, Setting
from costlab_gui.model.workspace import NotDerived, Workspace

TOO_LARGE, OUTSIDE, UNKNOWN = "too large", "outside", "unknown"
MIN_REPEATS = 3
MOST_POINTS = 500

# How long the parts of a point take beside the calls, in seconds; measured on two cores. The
# estimate is these and the predicted time of a call, so it is about right and no more.
_START_S = 3.0
_PROCESS_S = 0.15
_DESCRIBE_S = 0.1
_RESIDENT_S = 2.3
_ENERGY_S = 17.0
_UNKNOWN_CALL_S = 0.1
# As in a process's timing plan: warming up, and sampling.
_WARM_CALLS, _WARM_S = 8, 1.0
_SAMPLES, _LEAST_S, _MOST_S = 10, 0.3, 3.0
_PROCESS_LIMIT_S = 120.0
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
    """One point before it is measured.

    ``problem`` is one of the constants above or "", with the reason in ``why``; ``seconds`` is
    what its processes may take together.
    """

    target: str
    sizes: Mapping[str, int]
    options: Mapping[str, bool]
    prediction: Prediction | None
    seconds: float
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
        guessed = sum(one.prediction is None for one in self.points)
        if guessed:
            parts.append(_("{count} without a prediction").format(count=guessed))
        return " · ".join(parts)

    def basis(self) -> str:
        """How the duration is estimated."""
        return _(
            "About: for each point the predicted time of a call, as often as it is called, and "
            "{process} s for each process, {resident} s for the resident peak; {start} s to start."
        ).format(process=_PROCESS_S, resident=_RESIDENT_S, start=_START_S)


def values_of(session: Session, text: str) -> tuple[int, ...]:
    """The sizes of ``session.over`` in ``text``.

    Raises:
        SizeError: as the command line would.
    """
    return tuple(sorted(parse_values(text.replace(" ", ""), session.over)))


def first_values(session: Session) -> str:
    """A range over the x axis, coarse enough for a first look."""
    low = max(session.low, 1)
    factor = 2
    while low * factor**5 < session.high:
        factor *= 2
    return f"{low}:{session.high}:x{factor}"


def values_text(values: Sequence[int]) -> str:
    """Sizes as one types them: a range where they are one, else a list."""
    ordered = sorted(set(values))
    if len(ordered) > 2:
        factor = ordered[1] // ordered[0]
        if factor > 1 and all(a * factor == b for a, b in pairwise(ordered)):
            return f"{ordered[0]}:{ordered[-1]}:x{factor}"
    return ",".join(map(str, ordered))


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
        _planned(session, workspace, target, value, wish.repeats, energy, free_bytes)
        for target in session.shown
        for value in _own_values(session, workspace, target, values)
    ]
    left_out = [] if wish.all else [one for one in found if one.problem in (TOO_LARGE, OUTSIDE)]
    points = [one for one in found if one not in left_out]
    seconds = _START_S + sum(one.seconds for one in points)
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


def threads_of(session: Session, workspace: Workspace) -> int:
    """Threads to measure with: the setting's, else those of the calibration."""
    if session.setting.threads is not None:
        return session.setting.threads
    try:
        return workspace.machine(session.setting).threads or 1
    except CostLabError:
        return 1


def about(seconds: float) -> str:
    """A duration that is only about right, with two digits."""
    return format_value(float(f"{seconds:.2g}"), "s")


def seconds_of(call_s: float | None, repeats: int, energy: bool) -> float:
    """What the processes of a point may take together, where a call takes ``call_s``."""
    call = _UNKNOWN_CALL_S if call_s is None else call_s
    warm = call + min(_WARM_CALLS * call, _WARM_S + call)
    sampling = max(min(max(_LEAST_S, _SAMPLES * call), _MOST_S), call)
    timed = min(_PROCESS_S + warm + sampling, _PROCESS_LIMIT_S)
    memory = 2 * (_PROCESS_S + call)
    return _DESCRIBE_S + repeats * timed + memory + _RESIDENT_S + (_ENERGY_S if energy else 0.0)


def _own_values(
    session: Session, workspace: Workspace, target: str, values: tuple[int, ...]
) -> tuple[int, ...]:
    """The values for a program; one that does not depend on them is measured once."""
    if _has(workspace, session.setting, target, session.over):
        return values
    return (session.sizes.get(session.over, values[0]),)


def _planned(
    session: Session, workspace: Workspace, target: str, value: int, repeats: int, energy: bool,
    free_bytes: int | None,
) -> Planned:  # fmt: skip
    setting = session.setting
    sizes = {
        name: size
        for name, size in {**setting.sizes, session.over: value}.items()
        if _has(workspace, setting, target, name)
    }
    problem, why, prediction = "", "", None
    try:
        prediction = point(setting, workspace, target, {session.over: value})
        sizes = dict(prediction.sizes)
    except SizeError as error:
        problem, why = OUTSIDE, str(error)
    except CostLabError as error:
        problem, why = UNKNOWN, str(error)
    if prediction is not None and free_bytes is not None and prediction.peak_bytes is not None:
        needed = prediction.peak_bytes + _RUNTIME_BYTES
        if needed > free_bytes:
            problem = TOO_LARGE
            why = _("needs {needed}, {free} are free").format(
                needed=format_value(needed, "B"), free=format_value(free_bytes, "B")
            )
    seconds = seconds_of(prediction.time_s if prediction else None, repeats, energy)
    return Planned(target, sizes, _options(setting, target), prediction, seconds, problem, why)


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
