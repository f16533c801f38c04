"""Which sizes have a control, what it says, and what else changes with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from costlab.arch import registry
from costlab.errors import CostLabError
from costlab.i18n import _
from costlab.symbols import SIZES, describe
from costlab_gui.model.session import Session
from costlab_gui.model.snapping import Snap
from costlab_gui.model.workspace import Workspace

_ORDER = ("n", "m", "d", "w", "G", "c", "h", "g", "k", "b", "L", "f")
_RANGES: Mapping[str, tuple[int, int]] = {
    "n": (1, 4 * 2**20),
    "m": (1, 4 * 2**20),
    "d": (8, 65_536),
    "h": (1, 256),
    "g": (1, 256),
    "k": (1, 1024),
    "b": (1, 1024),
    "L": (1, 256),
    "f": (8, 262_144),
    "V": (256, 1_048_576),
    "c": (1, 8192),
    "R": (1, 64),
    "r": (1, 4096),
    "s": (1, 1024),
    "e": (1, 1024),
    "t": (1, 64),
}
_RANGE = (1, 65_536)
# Windows are drawn up to the sequence that they slide over.
_WITHIN_N = ("w", "G")


@dataclass(frozen=True, slots=True)
class SizeLine:
    """One control.

    Attributes:
        low, high: ends of the slider; ``value`` may lie beyond.
        used_by: titles of the chosen programs that have the size.
        problem: why some program cannot take the value; "" if all can.
    """

    name: str
    meaning: str
    unit: str
    value: int
    low: int
    high: int
    snap: Snap
    used_by: tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HeadSize:
    """The size of a head where ``h*k = d``; ``value`` is None where h does not divide d."""

    value: int | None
    meaning: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the panel shows: a line per size, and the head size where heads divide the width."""

    lines: tuple[SizeLine, ...]
    head_size: HeadSize | None

    def line(self, name: str) -> SizeLine:
        """The line of a size.

        Raises:
            KeyError: if no chosen program has it.
        """
        for line in self.lines:
            if line.name == name:
                return line
        raise KeyError(name)


def sizes_of(session: Session, workspace: Workspace) -> Sizes:
    """The sizes of the chosen programs, the most important first.

    An opened module has none until its formulas are derived.
    """
    values: dict[str, int] = {}
    users: dict[str, list[str]] = {}
    meanings: dict[str, str] = {}
    conditions: dict[str, list[str]] = {}
    for target in session.programs:
        program = _program(target, session, workspace)
        for name in program.names:
            values.setdefault(name, session.sizes.get(name, program.defaults.get(name, 1)))
            users.setdefault(name, []).append(workspace.title(target))
            if name in program.meanings:
                meanings.setdefault(name, program.meanings[name])
        for condition in program.conditions:
            conditions.setdefault(condition, []).append(workspace.title(target))
    heads = "h divides d" in conditions and "k" not in values
    lines = tuple(
        _line(name, values, users[name], meanings, conditions)
        for name in sorted(values, key=_place)
    )
    return Sizes(lines, _head_size(values) if heads else None)


def changed_sizes(sizes: Sizes, name: str, value: int, keep_head_size: bool) -> dict[str, int]:
    """All sizes that change when the user sets ``name`` to ``value``.

    Setting the head size ``k`` changes d = h*k. With ``keep_head_size`` d and h change together,
    as far as d is a multiple of k.
    """
    head = sizes.head_size
    if head is None:
        return {name: value}
    if name == "k":
        return {"d": sizes.line("h").value * value}
    if keep_head_size and head.value:
        if name == "h":
            return {"h": value, "d": value * head.value}
        if name == "d" and value % head.value == 0:
            return {"d": value, "h": value // head.value}
    return {name: value}


def snap_of(sizes: Sizes, name: str, keep_head_size: bool) -> Snap:
    """Where the slider of ``name`` stops; with the head size kept, d is a multiple of it."""
    line, head = sizes.line(name), sizes.head_size
    if keep_head_size and head is not None and head.value:
        if name == "d":
            return Snap(multiple=head.value, quarters=True)
        if name == "h":
            return Snap()
    return line.snap


@dataclass(frozen=True, slots=True)
class _Program:
    names: tuple[str, ...]
    defaults: Mapping[str, int]
    meanings: Mapping[str, str]
    conditions: tuple[str, ...]


def _program(target: str, session: Session, workspace: Workspace) -> _Program:
    if target in registry.names():
        spec = registry.spec(target)
        return _Program(spec.symbols, spec.defaults, {}, spec.constraints)
    try:
        derivation = workspace.derivation(target, session.setting)
    except CostLabError:
        return _Program((), {}, {}, ())
    return _Program(derivation.sizes, derivation.defaults, derivation.symbols, ())


def _line(
    name: str,
    values: Mapping[str, int],
    users: list[str],
    meanings: Mapping[str, str],
    conditions: Mapping[str, list[str]],
) -> SizeLine:
    known = describe(name) if name in SIZES else None
    low, high = _RANGES.get(name, _RANGE)
    if name in _WITHIN_N and "n" in values:
        high = max(values["n"], low + 1)
    return SizeLine(
        name=name,
        meaning=_(known.meaning) if known else meanings.get(name, _("size of your module")),
        unit=_(known.unit) if known else "",
        value=values[name],
        low=low,
        high=high,
        snap=_snap(name, values, conditions),
        used_by=tuple(users),
        problem=_problem(name, values, conditions),
    )


def _snap(name: str, values: Mapping[str, int], conditions: Mapping[str, list[str]]) -> Snap:
    multiple, divisor_of = 1, 0
    for condition in conditions:
        left, relation, right = _parts(condition)
        if relation == "divides" and right == name and (left in values or left.isdigit()):
            multiple = max(multiple, int(values.get(left, left)))
        if relation == "divides" and left == name and right in values:
            divisor_of = values[right]
    return Snap(multiple, divisor_of, quarters=name in ("d", "f"))


def _problem(name: str, values: Mapping[str, int], conditions: Mapping[str, list[str]]) -> str:
    for condition in conditions:
        left, relation, right = _parts(condition)
        if name != left or right not in values:
            continue
        if relation == "divides" and values[right] % values[left]:
            return _("{left} must divide {right} = {value}").format(
                left=left, right=right, value=values[right]
            )
        if relation == "<=" and values[left] > values[right]:
            return _("{left} is larger than {right} = {value}").format(
                left=left, right=right, value=values[right]
            )
    return ""


@lru_cache(maxsize=256)
def _parts(condition: str) -> tuple[str, str, str]:
    """ "h divides d" and "w <= n" as three words; anything else is no condition on two sizes."""
    words = condition.split()
    return (words[0], words[1], words[2]) if len(words) == 3 else ("", "", "")


def _head_size(values: Mapping[str, int]) -> HeadSize:
    size, rest = divmod(values["d"], values["h"])
    known = SIZES["k"]
    return HeadSize(size if not rest else None, _(known.meaning.partition(" (")[0]))


def _place(name: str) -> tuple[int, str]:
    if name in _ORDER:
        return _ORDER.index(name), ""
    known = tuple(SIZES)
    return len(_ORDER) + (known.index(name) if name in known else len(known)), name
