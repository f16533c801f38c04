"""The formula of a quantity at the session's sizes: its terms, their values and shares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from costlab.algebra import Expr, Func, Number, as_expr
from costlab.formulas.record import CostClass
from costlab.formulas.text import candidates
from costlab.i18n import _
from costlab.prediction.timing import GroupTime, Times, time_of
from costlab.units import UNITS, format_value
from costlab_gui.model.place import Place, Same
from costlab_gui.model.terms import Evaluator, Term, abbreviations, numbers, split

QUANTITIES = (
    "flop", "flop_matmul", "flop_useful", "peak_bytes", "peak_bytes_step", "bytes", "saved_bytes",
    "state_bytes", "time", "parameters", "launches", "steps",
)  # fmt: skip
OF_METRIC: Mapping[str, str] = {
    "time": "time", "memory": "peak_bytes", "flop": "flop", "bytes": "bytes",
    "state": "state_bytes",
}  # fmt: skip
COLOURED = 7
"""How many terms have a colour of their own; the rest of a long sum shares a dim one."""

_COMPARED = 3


def quantity_title(quantity: str) -> str:
    """What people call a quantity."""
    return {
        "flop": _("FLOP"),
        "flop_matmul": _("FLOP of matrix products"),
        "flop_useful": _("FLOP that the mask keeps"),
        "peak_bytes": _("Peak memory"),
        "peak_bytes_step": _("Peak memory beyond what was there"),
        "bytes": _("Bytes moved"),
        "saved_bytes": _("Saved for backward"),
        "state_bytes": _("State of a decode step"),
        "time": _("Time"),
        "parameters": _("Parameters"),
        "launches": _("Launches"),
        "steps": _("Dependent steps"),
    }[quantity]


@dataclass(frozen=True, slots=True)
class Part:
    """One term at the current sizes.

    Attributes:
        term: how it is written.
        numbers: the same with numbers put in.
        value: in the quantity's unit, with its sign.
        share: of the whole; shares of all parts add up to 1, negative terms below 0.
        colour: 0 .. ``COLOURED`` - 1, or -1 for the dim rest.
    """

    term: Term
    numbers: str
    value: Number
    share: float
    colour: int


@dataclass(frozen=True, slots=True)
class View:
    """A formula as it is shown.

    Attributes:
        quantity, scope: which ("layer" or "core").
        place: where it holds.
        exprs: the arguments of the maximum where the formula is one, else itself alone.
        winner: which of ``exprs`` the value is, at these sizes.
        parts: terms of the winner with values; without values where ``problem`` says why.
        names: short names of long functions in the terms.
        total: the value; None without one.
        problem: why there is no value, or no formula.
    """

    quantity: str
    scope: str
    place: Place
    exprs: tuple[Expr, ...] = ()
    winner: int = 0
    parts: tuple[Part, ...] = ()
    total: Number | None = None
    problem: str = ""
    names: Mapping[Func, str] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        return UNITS[self.quantity]

    @property
    def picture(self) -> tuple[Any, ...]:
        """What decides the look of the formula: equal for two views that are drawn alike."""
        return (
            self.quantity,
            tuple((part.term.text, part.term.negative, part.colour) for part in self.parts),
            self.winner if len(self.exprs) > 1 else 0,
            self.exprs,
        )

    def text(self, value: Number | None) -> str:
        """A value of this quantity for people."""
        return format_value(value, self.unit)


def view(place: Place, quantity: str, scope: str = "layer") -> View:
    """The formula of ``quantity`` at a place, with the values of its terms."""
    if quantity == "time":
        return _time(place, scope)
    expr, reason = expression(place, quantity, scope)
    if expr is None:
        return View(quantity, scope, place, problem=reason)
    exprs = candidates(expr)
    names = abbreviations(exprs)
    if place.problem:
        terms = split(exprs[0], names)
        blank = tuple(Part(t, "", 0, 0.0, _colour(i)) for i, t in enumerate(terms))
        return View(quantity, scope, place, exprs, 0, blank, None, place.problem, names)
    at = Evaluator(place.sizes)
    values = [at.of(candidate) for candidate in exprs]
    total = max(values)
    winner = values.index(total)
    terms = split(exprs[winner], names)
    found = [at.of(term.expr) for term in terms]
    parts = tuple(
        Part(term, numbers(term, at), value, _share(value, total), colour)
        for term, value, colour in zip(terms, found, _colours(place, exprs[winner]), strict=True)
    )
    return View(quantity, scope, place, exprs, winner, parts, total, names=names)


def expression(place: Place, quantity: str, scope: str) -> tuple[Expr | None, str]:
    """The formula to show and, without one, why not."""
    found = shown_class(place, quantity, scope).cost.get(quantity)
    if found is None:
        return None, _("not derived")
    expr = found.expr if scope == "layer" else found.core
    if expr is not None:
        return expr, ""
    reason = found.reason if scope == "layer" else ""
    return None, reason or _("not taken apart, or the module has no part named core")


def shown_class(place: Place, quantity: str, scope: str) -> CostClass:
    """The class whose formula is shown at a place: the one that holds.

    But the main one where that gives the same for the sizes which the class that holds fixes
    (one sequence): then it is the formula that people know.
    """
    key = (Same(place.derivation), place.index, quantity, scope)
    if key not in _SHOWN:
        _SHOWN[key] = _is_general(place, quantity, scope)
    return place.derivation.classes[0] if _SHOWN[key] else place.cost_class


_SHOWN: dict[tuple[Same, int, str, str], bool] = {}


def _is_general(place: Place, quantity: str, scope: str) -> bool:
    """Whether the main class's formula gives what the class that holds gives."""
    holds, main = place.cost_class, place.derivation.classes[0]
    own, general = _of(holds, quantity, scope), _of(main, quantity, scope)
    fixed = _fixed(holds)
    if own is None or general is None or not fixed or holds is main:
        return False
    if len(candidates(general)) > _COMPARED:  # a long maximum takes longer than it is worth
        return False
    return _at(general, fixed, place) == _at(own, fixed, place)


def _of(item: CostClass, quantity: str, scope: str) -> Expr | None:
    found = item.cost.get(quantity)
    return None if found is None else found.expr if scope == "layer" else found.core


def _fixed(item: CostClass) -> dict[str, int]:
    """Sizes that a class fixes to one number."""
    return {c.left: c.right for c in item.domain if c.kind == "==" and isinstance(c.right, int)}


def _at(expr: Expr, fixed: Mapping[str, int], place: Place) -> Expr:
    return expr.subs(dict(place.derivation.auxiliary)).subs(fixed)


def _share(value: Number, total: Number) -> float:
    return float(value / total) if total else 0.0


@lru_cache(maxsize=512)
def _ranked(expr: Expr, sizes: tuple[tuple[str, int], ...]) -> tuple[int, ...]:
    at = Evaluator(dict(sizes))
    return _by_rank([at.of(term.expr) for term in split(expr)])


_FIRST_SEEN: dict[tuple[Expr, str], tuple[int, ...]] = {}


def _colours(place: Place, expr: Expr) -> Sequence[int]:
    """Colour of each term: the largest have one. Decided once, so that none changes in a drag."""
    count = len(expr.terms)
    if count <= COLOURED:
        return range(count)
    key = (expr, place.target)
    if key not in _FIRST_SEEN:
        _FIRST_SEEN[key] = _ranked(expr, tuple(sorted(place.sizes.items())))
    return _FIRST_SEEN[key]


def _by_rank(values: Sequence[Number]) -> tuple[int, ...]:
    """Numbers in the order they stand, for the largest values only."""
    largest = sorted(range(len(values)), key=lambda i: -abs(float(values[i])))[:COLOURED]
    coloured = {at: colour for colour, at in enumerate(sorted(largest))}
    return tuple(coloured.get(i, -1) for i in range(len(values)))


def _colour(index: int) -> int:
    return index if index < COLOURED else -1


def _time(place: Place, scope: str) -> View:
    """Time as a sum over operators, launches of each included."""
    if scope != "layer":
        return View("time", scope, place, problem=_("time is predicted for the whole layer"))
    if place.problem or place.machine is None:
        return View("time", scope, place, problem=place.problem or place.no_machine)
    times = times_at(place)
    rows = by_operator(times)
    named = [
        (_calls(groups), operator_title(op), seconds_of(groups)) for op, groups in rows.items()
    ]
    rest = float(times.total_s) - sum(value for _count, _name, value in named)
    latency = float(times.latency_s)
    if latency:
        steps = place.cost_class.cost["steps"].expr
        named.append((steps or as_expr(1), _("step"), latency))
    fresh = rest - latency
    if fresh > 1e-12 * float(times.total_s):
        named.append((as_expr(1), _("fresh memory"), fresh))
    total = float(times.total_s)
    colours = _time_colours(place, tuple(row[2] for row in named))
    parts = [
        Part(_time_term(count, name), _time_numbers(count, value, place), value, value / total, c)
        for (count, name, value), c in zip(named, colours, strict=True)
        if c >= 0
    ]
    others = [row[2] for row, colour in zip(named, colours, strict=True) if colour < 0]
    if others:
        term = _time_term(as_expr(1), _("{count} others").format(count=len(others)))
        value = sum(others)
        parts.append(Part(term, format_value(value, "s"), value, value / total, -1))
    return View("time", scope, place, (), 0, tuple(parts), total)


def times_at(place: Place) -> Times:
    """The time model's answer at a place that has sizes and a machine."""
    assert place.machine is not None
    return time_of(place.cost_class, place.sizes, place.machine, place.derivation.mode)


def by_operator(times: Times) -> dict[str, list[GroupTime]]:
    """Operator classes of a pass, those of one operator together, in the order they run."""
    found: dict[str, list[GroupTime]] = {}
    for group in times.groups:
        found.setdefault(group.group.op, []).append(group)
    return found


def seconds_of(groups: Sequence[GroupTime]) -> float:
    """Seconds of operator classes, their launches included."""
    return float(sum(float(g.work_s) + float(g.launch_s) for g in groups))


def operator_title(op: str) -> str:
    """What people call an operator: "softmax" for ``aten._softmax.default``."""
    name = op.split(".")[1] if "." in op else op
    in_place = name.endswith("_")
    name = name.strip("_")
    if "scaled_dot_product" in name or name.startswith("flash_attention"):
        return _("attention backward") if "backward" in name else _("attention")
    title = name.replace("_", " ")
    return _("{name} in place").format(name=title) if in_place else title


def _calls(groups: Sequence[GroupTime]) -> Expr:
    return as_expr(sum((g.group.calls for g in groups), start=as_expr(0)))


_SEEN_TIMES: dict[tuple[str, str, int, int], tuple[int, ...]] = {}


def _time_colours(place: Place, values: tuple[float, ...]) -> Sequence[int]:
    key = (place.target, place.derivation.mode, place.index, len(values))
    if key not in _SEEN_TIMES:
        _SEEN_TIMES[key] = _by_rank(values)
    return _SEEN_TIMES[key]


@lru_cache(maxsize=1024)
def _time_term(count: Expr, name: str) -> Term:
    terms = split(count)
    before = terms[0].text if len(terms) == 1 else f"({count})"
    latex = terms[0].latex if len(terms) == 1 else rf"\left({count}\right)"
    once = count == 1
    below = rf"t_{{\text{{{re.sub(r'[^A-Za-z0-9 ]', ' ', name)}}}}}"
    return Term(
        expr=count,
        text=name if once else f"{before}·{name}",
        latex=below if once else rf"{latex}\, {below}",
        negative=False,
    )


def _time_numbers(count: Expr, value: float, place: Place) -> str:
    calls = float(count.evaluate(place.sizes))
    return (
        format_value(value, "s")
        if calls == 1
        else _("{calls} × {time}").format(
            calls=format_value(round(calls), ""), time=format_value(value / calls, "s")
        )
    )
