"""The architecture list as rows: filtered, in groups, with what a row needs to be drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Union

from costlab.arch import registry
from costlab.errors import CostLabError
from costlab.i18n import _
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Entry, NotDerived, Workspace, superscripts

OWN = "own"
_FIRST = (OWN, "attention", "linear attention", "recurrent")


@dataclass(frozen=True, slots=True)
class Group:
    """A line above the programs of one family; ``count`` of them follow."""

    title: str
    count: int


@dataclass(frozen=True, slots=True)
class Program:
    """A line of the list.

    Attributes:
        title: short; ``full_title`` is the whole of it.
        order: of its arithmetic, "n² d"; "" if unknown.
        chosen: whether it is compared; ``hidden``: but switched off in the legend.
        colour: index into the palette; None unless chosen.
        selected: whether its formula is explained.
        problem: why it cannot be drawn at the present setting; "" if it can.
    """

    target: str
    title: str
    full_title: str
    family: str
    order: str
    chosen: bool = False
    hidden: bool = False
    colour: int | None = None
    selected: bool = False
    problem: str = ""

    @property
    def spoken(self) -> str:
        """All that the line shows, in words."""
        state = _("hidden") if self.hidden else _("compared") if self.chosen else _("not compared")
        parts = [
            self.full_title,
            _("order {order}").format(order=self.order) if self.order else "",
            state,
            _("its formula is shown") if self.selected else "",
            self.problem,
        ]
        return ", ".join(part for part in parts if part)


Row = Union[Group, Program]


def rows(session: Session, workspace: Workspace, search: str = "") -> tuple[Row, ...]:
    """Groups and their programs, opened modules first.

    Args:
        search: words that must all occur in a program's name, title, family or order.
    """
    found: dict[str, list[Program]] = {}
    words = search.casefold().split()
    for entry in entries(session, workspace):
        text = f"{entry.target} {entry.title} {entry.family} {entry.order}".casefold()
        if all(word in text for word in words):
            found.setdefault(entry.family, []).append(_program(entry, session, workspace))
    listed: list[Row] = []
    for family in sorted(found, key=_place):
        listed.append(Group(family_title(family), len(found[family])))
        listed += found[family]
    return tuple(listed)


def entries(session: Session, workspace: Workspace) -> tuple[Entry, ...]:
    """Everything that can be chosen: the user's own modules and the catalogue."""
    own = (*session.opened, *(name for name in session.programs if name not in registry.names()))
    opened = [
        Entry(
            target,
            workspace.title(target),
            OWN,
            _own_order(target, session, workspace),
            workspace.modes(target),
            own=True,
        )
        for target in dict.fromkeys(own)
    ]
    return (*opened, *workspace.entries())


def programs(found: Iterable[Row]) -> list[Program]:
    """The rows that are programs."""
    return [row for row in found if isinstance(row, Program)]


def family_title(family: str) -> str:
    """What stands above a group."""
    known = {
        OWN: _("Your own"),
        "attention": _("Attention"),
        "linear attention": _("Linear attention"),
        "recurrent": _("Recurrent"),
        "feed-forward": _("Feed-forward"),
    }
    return known.get(family, family.capitalize())


def toggled(session: Session, target: str) -> dict[str, Any]:
    """The changes that add a program to the comparison, or take it out.

    Programs that stay keep their colours; a new one gets the first colour that is free, and its
    formula is shown.
    """
    colours = {name: session.colour(name) for name in session.programs}
    if target in colours:
        del colours[target]
        return {
            "programs": tuple(name for name in session.programs if name != target),
            "hidden": tuple(name for name in session.hidden if name != target),
            "colours": colours,
        }
    used = set(colours.values())
    colours[target] = next(index for index in range(len(used) + 1) if index not in used)
    return {
        "programs": (*session.programs, target),
        "colours": colours,
        "selected": target,
    }


def forgotten(session: Session, target: str) -> dict[str, Any]:
    """The changes that close an opened module."""
    changes = toggled(session, target) if target in session.programs else {}
    left = changes.get("programs", session.programs)
    if session.selected == target and left:
        changes["selected"] = left[0]
    opened = {name: digest for name, digest in session.opened.items() if name != target}
    return {**changes, "opened": opened}


def _program(entry: Entry, session: Session, workspace: Workspace) -> Program:
    made = Program(
        entry.target,
        workspace.title(entry.target),
        entry.title,
        entry.family,
        entry.order,
        selected=entry.target == session.selected,
        problem=_problem(entry, session, workspace),
    )
    if entry.target not in session.programs:
        return made
    return replace(
        made,
        chosen=True,
        hidden=entry.target in session.hidden,
        colour=session.colour(entry.target),
    )


def _problem(entry: Entry, session: Session, workspace: Workspace) -> str:
    mode = session.setting.mode
    if mode not in entry.modes:
        return _("has no mode {mode}").format(mode=mode)
    if not entry.own:
        return ""
    try:
        workspace.derivation(entry.target, session.setting)
    except NotDerived:
        return _("formulas are being derived")
    except CostLabError as error:
        return str(error)
    return ""


def _own_order(target: str, session: Session, workspace: Workspace) -> str:
    try:
        return superscripts(str(workspace.derivation(target, session.setting).order("flop")))
    except CostLabError:
        return ""


def _place(family: str) -> tuple[int, str]:
    return (_FIRST.index(family) if family in _FIRST else len(_FIRST), family)
