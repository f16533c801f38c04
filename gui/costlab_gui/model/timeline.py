"""The memory page as data: what is alive at the moments of the selected program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from costlab.errors import CostLabError
from costlab.figures.spec import LINEAR, Axis, Layer, Mark, StackSpec
from costlab.graph import Moment
from costlab.i18n import _
from costlab.units import format_percent, format_value
from costlab_gui.model.amounts import line, number
from costlab_gui.model.formula import operator_title
from costlab_gui.model.place import Place, locate
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace

# Bottom of the stack first, with palette indices that neighbours tell apart.
KINDS: Mapping[str, int] = {
    "parameters": 3, "buffers": 6, "state": 5, "inputs": 7, "saved": 0, "gradients": 4,
    "temporary": 2, "scratch": 1,
}  # fmt: skip
_OTHER = 7


@dataclass(frozen=True, slots=True)
class Alive:
    """Bytes of one kind at one moment, and where they come from."""

    kind: str
    bytes: float
    formula: str


@dataclass(frozen=True, slots=True)
class At:
    """One moment: which operator runs, and what is alive meanwhile, bottom of the stack first."""

    operator: str
    module: str
    phase: str
    alive: tuple[Alive, ...]

    @property
    def bytes(self) -> float:
        return sum(part.bytes for part in self.alive)

    @property
    def where(self) -> str:
        """The operator and its module."""
        if not self.module:
            return self.operator
        return _("{operator} in {module}").format(operator=self.operator, module=self.module)


@dataclass(frozen=True, slots=True)
class Timeline:
    """A figure and its numbers; ``figure`` is None where ``problem`` says why."""

    figure: StackSpec | None
    moments: tuple[At, ...]
    peak: int
    capacity_bytes: float | None
    notes: tuple[str, ...]
    problem: str = ""


def timeline(session: Session, workspace: Workspace) -> Timeline:
    """What is alive at each kept moment of the selected program, at the current sizes."""
    try:
        place = locate(session.setting, workspace, session.selected)
    except CostLabError as error:
        return _nothing(str(error))
    if place.problem:
        return _nothing(place.problem)
    moments = tuple(_at(moment, place) for moment in place.cost_class.moments)
    if not moments:
        return _nothing(_("no moments are known of this program"))
    peak = max(range(len(moments)), key=lambda index: moments[index].bytes)
    kinds = _kinds(moments)
    capacity = place.machine.capacity_bytes if place.machine is not None else None
    found = notes(place)
    figure = StackSpec(
        title=_("Memory, {name}, {mode}, {dtype}").format(
            name=workspace.title(session.selected), mode=session.setting.mode,
            dtype=session.setting.dtype,
        ),
        y=Axis(_("bytes alive"), "B", LINEAR),
        moments=tuple(moment.where for moment in moments),
        phases=tuple(moment.phase for moment in moments),
        layers=tuple(
            Layer(
                kind_title(kind),
                tuple(_bytes_of(moment, kind) for moment in moments),
                KINDS.get(kind, _OTHER),
            )
            for kind in kinds
        ),
        peak=peak,
        peak_label=_("peak {bytes}: {where}").format(
            bytes=format_value(round(moments[peak].bytes), "B"), where=moments[peak].where
        ),
        marks=_marks(session, place, capacity),
        caption=" ".join(found),
    )  # fmt: skip
    return Timeline(figure, moments, peak, capacity, found)


def kind_title(kind: str) -> str:
    """What people call a kind of memory."""
    return {
        "parameters": _("parameters"),
        "buffers": _("buffers"),
        "state": _("state"),
        "inputs": _("inputs"),
        "saved": _("saved for backward"),
        "gradients": _("gradients"),
        "temporary": _("temporary"),
        "scratch": _("kernel scratch"),
    }.get(kind, kind)


def sentence(found: Timeline, index: int) -> str:
    """One moment in words: which operator, what is alive, and from which formulas."""
    moment = found.moments[index]
    parts = sorted(moment.alive, key=lambda part: -part.bytes)
    listed = "; ".join(
        _("{kind} {bytes} = {formula}").format(
            kind=kind_title(part.kind),
            bytes=format_value(round(part.bytes), "B"),
            formula=_short(part.formula),
        )
        for part in parts
        if part.bytes
    )
    head = (
        _("Peak, {bytes}{share}, while {where} runs ({phase})")
        if index == found.peak
        else _("{bytes}{share} while {where} runs ({phase})")
    )
    capacity = found.capacity_bytes
    share = ""
    if capacity:
        share = _(", {percent} of the device").format(
            percent=format_percent(float(f"{moment.bytes / capacity:.3g}"))
        )
    text = head.format(
        bytes=format_value(round(moment.bytes), "B"), share=share, where=moment.where,
        phase=moment.phase,
    )  # fmt: skip
    return f"{text}: {listed}."


def fits(found: Timeline) -> str:
    """Whether the peak fits the device; "" where its memory is unknown."""
    if found.capacity_bytes is None or not found.moments:
        return ""
    peak = found.moments[found.peak].bytes
    if peak <= found.capacity_bytes:
        return ""
    return _("Does not fit: the peak is {factor} times the device's {capacity}.").format(
        factor=f"{peak / found.capacity_bytes:.3g}",
        capacity=format_value(found.capacity_bytes, "B"),
    )


def notes(place: Place) -> tuple[str, ...]:
    """What the picture leaves out."""
    found = [
        _("Kept are the moments that can be the peak, in program order; at every other operator no "
          "more is alive than at one of these, and between two columns memory rises and falls.")
    ]  # fmt: skip
    if place.derivation.rerolled:
        found.append(
            _("Loops over {sizes} are re-rolled: their body is looked at in its first, second "
              "and last pass, and between these memory goes evenly.").format(
                sizes=", ".join(place.derivation.rerolled)
            )
        )  # fmt: skip
    found.append(_("What the allocator rounds up and what the runtime holds come on top."))
    return tuple(found)


def _nothing(problem: str) -> Timeline:
    return Timeline(None, (), 0, None, (), problem)


def _at(moment: Moment, place: Place) -> At:
    *module, phase, op = moment.label.split()
    alive = tuple(
        Alive(kind, number(place, moment.live[kind]), line(moment.live[kind]))
        for kind in _in_order(moment.live)
    )
    return At(operator_title(op), " ".join(module), phase, alive)


def _in_order(kinds: Mapping[str, object] | Sequence[str]) -> list[str]:
    order = list(KINDS)
    return sorted(kinds, key=lambda kind: order.index(kind) if kind in order else len(order))


def _kinds(moments: Sequence[At]) -> list[str]:
    """Kinds of which something is alive at some moment, bottom first."""
    found = {part.kind: None for moment in moments for part in moment.alive if part.bytes}
    return _in_order(list(found))


def _bytes_of(moment: At, kind: str) -> float:
    return sum(part.bytes for part in moment.alive if part.kind == kind)


def _marks(session: Session, place: Place, capacity: float | None) -> tuple[Mark, ...]:
    found = []
    if capacity is not None and place.machine is not None:
        label = _("{capacity} of {device}").format(
            capacity=format_value(capacity, "B"), device=place.machine.title
        )
        found.append(Mark("y", capacity, label))
    budget = session.budget.memory_bytes
    if budget is not None:
        label = _("budget {budget}").format(budget=format_value(budget, "B"))
        found.append(Mark("y", budget, label))
    return tuple(found)


def _short(formula: str, most: int = 60) -> str:
    return formula if len(formula) <= most else formula[: most - 1] + "…"
