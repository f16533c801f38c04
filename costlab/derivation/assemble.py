"""From a derived class to its record: formulas in the user's symbols, groups, timeline, parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from costlab.algebra import Expr, Size, as_expr, maximum, symbol, total
from costlab.derivation.align import plain_module
from costlab.derivation.engine import Derived, Step, is_core, quantity_total
from costlab.derivation.lifetimes import PASS
from costlab.derivation.totals import COUNTED
from costlab.formulas.prune import prune
from costlab.formulas.record import Condition, CostClass, Group, Quantity
from costlab.graph import Moment


def cost_class(
    derived: Derived, mode: str, public: Callable[[Expr], Expr], domain: Sequence[Condition]
) -> CostClass:
    """Write ``derived`` as a :class:`CostClass`; ``public`` rewrites internal variables."""

    written: dict[Expr, Expr] = {}

    def out(size: Size) -> Expr:
        expr = as_expr(size)
        if expr not in written:
            written[expr] = public(expr)
        return written[expr]

    core = [s for s in derived.steps if is_core(s.module)]
    has_core = bool(core)
    cost: dict[str, Quantity] = {}
    for name in COUNTED:
        value = out(quantity_total(derived.steps, name))
        cost[name] = Quantity(value, out(quantity_total(core, name)) if has_core else None)
    if not derived.masks_fitted:
        cost["flop_useful"] = Quantity(None, None, "how many pairs the mask keeps depends on data")
    bounds = {c.left: int(c.right) for c in domain if c.kind in (">=", "==") and "/" not in c.left}
    bounds = dict.fromkeys(derived.model.variables, 1) | bounds
    survivors = _pruned(derived.moments, out, bounds, domain)
    before = total(nbytes for _, nbytes in derived.held.values())
    cost["peak_bytes"] = Quantity(
        _peak(survivors, bounds, domain),
        _peak(_pruned(derived.core_moments, out, bounds, domain), bounds, domain)
        if has_core
        else None,
    )
    cost["peak_bytes_step"] = Quantity(
        as_expr(maximum(*(as_expr(total(m.live.values())) - out(before) for m in survivors)))
        if survivors
        else as_expr(0)
    )
    cost["saved_bytes"] = _saved(derived, mode, out)
    cost["state_bytes"] = (
        Quantity(out(derived.state_bytes))
        if derived.state_bytes is not None
        else Quantity(None, None, "this mode carries no state")
    )
    cost["parameters"] = Quantity(out(derived.held["parameters"][0]))
    cost["steps"] = (
        Quantity(out(derived.depth))
        if derived.depth is not None
        else Quantity(None, None, "the longest chain is no polynomial of the sizes")
    )
    groups = _groups(derived.steps, out)
    cost["time"] = Quantity(_time(groups, cost["steps"].expr))
    return CostClass(
        domain=tuple(domain),
        cost=cost,
        groups=groups,
        moments=survivors,
        verified_at=tuple(
            {k: v for k, v in at.items() if k in derived.model.symbols}
            for at in derived.verified_at
        ),
        parts=_parts(derived.steps, out),
    )


def _pruned(
    moments: Iterable[Moment],
    out: Callable[[Size], Expr],
    bounds: Mapping[str, int],
    domain: Sequence[Condition],
) -> tuple[Moment, ...]:
    """The moments that are the peak somewhere, in program order, in the user's symbols."""
    by_total: dict[Expr, Moment] = {}
    for moment in moments:
        value = as_expr(total(moment.live.values()))
        by_total.setdefault(value, moment)
    # Dominance is decided in internal variables, where everything is a polynomial.
    kept = set(prune(tuple(by_total), bounds, ()))
    written: dict[Expr, Moment] = {}
    for value, moment in by_total.items():
        if value in kept:
            written.setdefault(
                out(value), Moment(moment.label, {k: out(v) for k, v in moment.live.items()})
            )
    again = set(prune(tuple(written), bounds, tuple(domain)))
    return tuple(m for value, m in written.items() if value in again)


def _peak(
    survivors: Sequence[Moment], bounds: Mapping[str, int], domain: Sequence[Condition]
) -> Expr:
    if not survivors:
        return as_expr(0)
    return as_expr(maximum(*(total(m.live.values()) for m in survivors)))


def _saved(derived: Derived, mode: str, out: Callable[[Size], Expr]) -> Quantity:
    if mode != "train":
        return Quantity(as_expr(0))
    if derived.saved_bytes is None:
        return Quantity(None, None, "the saved bytes are no polynomial of the sizes")
    return Quantity(out(derived.saved_bytes))


def _groups(steps: Sequence[Step], out: Callable[[Size], Expr]) -> tuple[Group, ...]:
    """Calls with equal cost, shapes and place in core or phase, counted together."""
    found: dict[tuple[object, ...], tuple[Group, list[Size]]] = {}
    for step in steps:
        cost = step.priced.cost
        if cost is None or (cost.launches == 0 and cost.bytes_read == 0):
            continue
        calls = step.over_passes(1)
        flop, nbytes = step.priced.quantity("flop"), step.priced.quantity("bytes")
        launches = cost.launches
        if PASS in as_expr(flop).symbols() | as_expr(nbytes).symbols():
            # Passes that differ are written as one call with their sum.
            flop, nbytes = step.over_passes(flop), step.over_passes(nbytes)
            launches, calls = step.over_passes(launches), 1
        shapes = tuple(t.shape for t in list(step.priced.call.tensors())[:3])
        if any(PASS in as_expr(s).symbols() for shape in shapes for s in shape):
            shapes = ()
        group = Group(
            op=step.priced.call.op,
            kind=cost.kind,
            phase=step.phase,
            core=is_core(step.module),
            flop=out(flop),
            bytes=out(nbytes),
            calls=as_expr(0),
            launches=out(launches),
            shapes=tuple(tuple(out(s) for s in shape) for shape in shapes),
        )
        key = (group.op, group.kind, group.phase, group.core, group.flop, group.bytes,
               group.launches, group.shapes)  # fmt: skip
        found.setdefault(key, (group, []))[1].append(calls)
    return tuple(replace(g, calls=out(total(calls))) for g, calls in found.values())


def _time(groups: Sequence[Group], steps: Expr | None) -> Expr:
    """``sum calls*Max(flop/P, bytes/W) + launches*t_launch + steps*t_step`` in seconds."""
    parts: list[Size] = []
    launches: list[Size] = []
    for group in groups:
        rate = symbol(f"P_{group.kind}")
        moved = group.bytes / symbol("W")
        work = moved if group.flop == 0 else maximum(group.flop / rate, moved)
        parts.append(group.calls * work)
        launches.append(group.calls * group.launches)
    parts.append(as_expr(total(launches)) * symbol("t_launch"))
    if steps is not None:
        parts.append(steps * symbol("t_step"))
    return as_expr(total(parts))


def _parts(
    steps: Sequence[Step], out: Callable[[Size], Expr]
) -> tuple[tuple[str, str, Mapping[str, Size]], ...]:
    """Counted quantities per module and operator; they add up to the whole."""
    found: dict[tuple[str, str], dict[str, list[Size]]] = {}
    for step in steps:
        key = (plain_module(step.module), step.priced.call.op)
        row = found.setdefault(key, {name: [] for name in COUNTED})
        for name in COUNTED:
            row[name].append(step.over_passes(step.priced.quantity(name)))
    return tuple(
        (module, op, {name: out(total(sizes)) for name, sizes in row.items()})
        for (module, op), row in found.items()
    )
