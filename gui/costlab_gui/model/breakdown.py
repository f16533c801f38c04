"""A quantity taken apart: by operator, by module, by kind of memory, by moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from costlab.algebra import Expr, Number, Size, as_expr
from costlab.graph import Moment
from costlab.i18n import _
from costlab.prediction.timing import GroupTime
from costlab.units import format_value
from costlab_gui.model.formula import View, by_operator, operator_title, seconds_of, times_at
from costlab_gui.model.place import Place
from costlab_gui.model.terms import Evaluator

_COUNTED = frozenset({"flop", "flop_matmul", "flop_useful", "bytes", "launches"})


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree.

    Attributes:
        name: what it is; ``detail`` is its full name.
        expr: its formula, or ``note`` where it has none.
        value: in the quantity's unit; that of a parent is the sum of its children.
        share: of the whole.
    """

    name: str
    detail: str
    expr: Expr | None
    note: str
    value: Number
    share: float
    children: tuple[Row, ...] = ()


def ways(view: View) -> tuple[tuple[str, str], ...]:
    """How a quantity can be taken apart: keys for :func:`breakdown`, and titles."""
    if view.total is None:
        return ()
    if view.quantity in _COUNTED and view.place.cost_class.parts:
        return (("op", _("By operator")), ("module", _("By module")))
    if view.quantity == "time":
        return (("op", _("By operator")),)
    if view.quantity == "peak_bytes" and view.scope == "layer" and view.place.cost_class.moments:
        return (("kind", _("By kind")), ("moment", _("By moment")))
    return ()


def breakdown(view: View, by: str) -> tuple[Row, ...]:
    """The tree of a quantity at the sizes of its place; ``by`` is a key of :func:`ways`."""
    if by not in dict(ways(view)):
        return ()
    total = view.total or 0
    if view.quantity == "time":
        return _operators_in_time(view.place, float(total))
    if by in ("kind", "moment"):
        return _memory(view.place, total, by)
    leaves = list(_leaves(view))
    return _by_module(leaves, total) if by == "module" else _by_operator(leaves, total)


@dataclass(frozen=True, slots=True)
class _Leaf:
    module: str
    op: str
    expr: Expr
    value: Number


def _leaves(view: View) -> Iterable[_Leaf]:
    at = Evaluator(view.place.sizes)
    for module, op, row in view.place.cost_class.parts:
        expr = as_expr(row.get(view.quantity, 0))
        if expr.terms and (view.scope == "layer" or "core" in module.split(".")):
            yield _Leaf(module, op, expr, at.of(expr))


def _by_operator(leaves: list[_Leaf], total: Number) -> tuple[Row, ...]:
    groups: dict[str, list[_Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(leaf.op, []).append(leaf)
    return tuple(
        _parent(
            operator_title(op),
            op,
            tuple(_row(_module(e.module), e.module, e, total) for e in found),
        )
        for op, found in groups.items()
    )


def _by_module(leaves: list[_Leaf], total: Number, depth: int = 0) -> tuple[Row, ...]:
    """Modules of one depth; operators that a module calls itself stand beside its parts."""
    groups: dict[str, list[_Leaf]] = {}
    for leaf in leaves:
        path = leaf.module.split(".") if leaf.module else []
        groups.setdefault(path[depth] if len(path) > depth else "", []).append(leaf)
    found: list[Row] = []
    for name, inside in groups.items():
        if name:
            whole = ".".join(inside[0].module.split(".")[: depth + 1])
            found.append(_parent(name, whole, _by_module(inside, total, depth + 1)))
        elif depth:
            found += [_row(operator_title(leaf.op), leaf.op, leaf, total) for leaf in inside]
        else:
            own = tuple(_row(operator_title(leaf.op), leaf.op, leaf, total) for leaf in inside)
            found.append(_parent(_module(""), "", own))
    return tuple(found)


def _module(path: str) -> str:
    """A module's path; "#" stands for every member of a list of equal modules."""
    return path.replace(".#", _("[all]")) or _("(the module itself)")


def _row(name: str, detail: str, leaf: _Leaf, total: Number) -> Row:
    return Row(name, detail, leaf.expr, "", leaf.value, _part(leaf.value, total))


def _parent(name: str, detail: str, children: tuple[Row, ...]) -> Row:
    exprs = [row.expr for row in children if row.expr is not None]
    if len(children) == 1 and not children[0].children:
        detail = f"{detail} ({children[0].detail or children[0].name})"
    return Row(
        name=name,
        detail=detail,
        expr=sum(exprs, start=as_expr(0)) if len(exprs) == len(children) else None,
        note="",
        value=sum(row.value for row in children),
        share=sum(row.share for row in children),
        children=children if len(children) > 1 else children[0].children,
    )


def _part(value: Number, total: Number) -> float:
    return float(value / total) if total else 0.0


def _operators_in_time(place: Place, total: float) -> tuple[Row, ...]:
    rows = []
    times = times_at(place)
    for op, groups in by_operator(times).items():
        seconds = seconds_of(groups)
        children = tuple(_call(group, place, total) for group in groups)
        calls = round(sum(float(group.calls) for group in groups))
        note = children[0].note if len(children) == 1 else _calls(calls)
        rows.append(
            Row(operator_title(op), op, None, note, seconds, seconds / total,
                children if len(children) > 1 else ())
        )  # fmt: skip
    latency = float(times.latency_s)
    fresh = total - sum(float(row.value) for row in rows) - latency
    for name, seconds in ((_("waiting for the step before"), latency), (_("fresh memory"), fresh)):
        if seconds > 1e-12 * total:
            rows.append(Row(name, name, None, "", seconds, seconds / total))
    return tuple(rows)


def _call(group: GroupTime, place: Place, total: float) -> Row:
    at = Evaluator(place.sizes)
    shapes = ", ".join(
        "×".join(format_value(round(float(at.of(as_expr(size)))), "") for size in shape)
        for shape in group.group.shapes
    )
    seconds = seconds_of([group])
    bound = _("arithmetic") if float(group.compute_s) >= float(group.memory_s) else _("traffic")
    if float(group.launch_s) > float(group.work_s):
        bound = _("launches")
    note = _("{calls}, bound by {what}").format(calls=_calls(round(float(group.calls))), what=bound)
    name = shapes or operator_title(group.group.op)
    detail = f"{group.group.op} {shapes}, {group.group.phase}"
    if place.derivation.mode == "train":
        name = f"{name}, {group.group.phase}"
    return Row(name, detail, None, note, seconds, seconds / total)


def _calls(count: int) -> str:
    return _("1 call") if count == 1 else _("{count} calls").format(count=format_value(count, ""))


def _memory(place: Place, total: Number, by: str) -> tuple[Row, ...]:
    at = Evaluator(place.sizes)
    moments = place.cost_class.moments
    rows = [
        Row(moment_title(moment), moment.label, None, "", value, _part(value, total), kinds)
        for moment in moments
        for kinds in (_kinds(moment.live, at, total),)
        for value in (sum(row.value for row in kinds),)
    ]
    if by == "moment":
        return tuple(rows)
    return max(rows, key=lambda row: row.value).children


def _kinds(live: Mapping[str, Size], at: Evaluator, total: Number) -> tuple[Row, ...]:
    found = []
    for kind, size in live.items():
        expr = as_expr(size)
        value = at.of(expr)
        found.append(Row(kind_title(kind), kind, expr, "", value, _part(value, total)))
    return tuple(found)


def kind_title(kind: str) -> str:
    """What people call a kind of memory."""
    titles = {
        "parameters": _("parameters"), "inputs": _("inputs"), "saved": _("saved for backward"),
        "gradients": _("gradients"), "temporary": _("temporary"), "scratch": _("kernel scratch"),
        "buffers": _("buffers"), "outputs": _("outputs"), "state": _("state"),
    }  # fmt: skip
    return titles.get(kind, kind)


def moment_title(moment: Moment) -> str:
    """Where in the program a moment is: "bmm in core, forward"."""
    *place, phase, op = moment.label.split(" ")
    where = _(" in {module}").format(module=_module(" ".join(place))) if place else ""
    return f"{operator_title(op)}{where}, {phase}"


def peak_moment(place: Place) -> str:
    """In words, while what runs the most memory is alive; "" where that is not known."""
    if place.problem or not place.cost_class.moments:
        return ""
    at = Evaluator(place.sizes)
    greatest = max(
        place.cost_class.moments,
        key=lambda moment: float(sum(at.of(as_expr(size)) for size in moment.live.values())),
    )
    return moment_title(greatest)
