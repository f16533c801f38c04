"""Derives the formulas of one program class: trace, align, fit, sum, check against every trace."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from costlab.algebra import Expr, Size, as_expr, sum_range, total
from costlab.derivation.align import PEEL, align, token
from costlab.derivation.build import Builder
from costlab.derivation.fit import Fitter
from costlab.derivation.lifetimes import PASS, LiveSets, MomentAt, moments
from costlab.derivation.sizes import SizeModel
from costlab.derivation.totals import COUNTED, Priced, concrete_call, depth, price
from costlab.errors import DerivationError
from costlab.graph import Moment
from costlab.trace.records import OpRecord, Trace

FIT_TRACES = 10
HELD_OUT = 2
_TRAIN_KINDS = ("parameters", "buffers", "inputs", "state")

Tracer = Callable[[Mapping[str, int]], Trace]  # masks already carried


@dataclass(frozen=True, slots=True)
class Step:
    """One slot with its symbolic call and price; ``passes`` is its loop's (first, last) range."""

    priced: Priced
    module: str
    phase: str
    passes: tuple[Size, Size] | None

    def over_passes(self, size: Size) -> Size:
        """``size`` summed over the passes this step runs in."""
        if self.passes is None:
            return size
        first, last = self.passes
        return sum_range(size, PASS, first, last)


@dataclass(frozen=True, slots=True)
class Derived:
    """Everything known of one class, in the internal variables of ``model``."""

    model: SizeModel
    steps: tuple[Step, ...]
    moments: tuple[Moment, ...]
    held: Mapping[str, tuple[Size, Size]]
    state_bytes: Size | None
    saved_bytes: Size | None
    depth: Size | None
    trip: str | None
    verified_at: tuple[Mapping[str, int], ...]
    gaps: tuple[str, ...]
    core_moments: tuple[Moment, ...]
    masks_fitted: bool
    totals: Mapping[str, Size]
    peaks: tuple[Size, ...]


def derive_class(
    tracer: Tracer, model: SizeModel, backend: str, seed: int = 0
) -> Derived:
    """Derive one class of a program.

    Args:
        tracer: runs the program once at the given sizes (internal variables included).
        model: the sizes this class ranges over.
        backend: "cpu" or "cuda", which the rules read.

    Raises:
        DerivationError: if no formula reproduces every trace.
    """
    traces, trip = _collect(tracer, model, random.Random(seed))
    alignment = align(traces, [t.sizes[trip] for t in traces] if trip else None)
    builder = Builder(traces, alignment, model.variables, trip, backend)
    derived = _assemble(builder, model, trip)
    for t in traces:
        problem = check(derived, t, backend)
        if problem is not None:
            where = ", ".join(f"{k}={v}" for k, v in t.sizes.items())
            raise DerivationError(problem, where=where)
    return derived


def _collect(
    tracer: Tracer, model: SizeModel, rng: random.Random
) -> tuple[list[Trace], str | None]:
    """Traces at random sizes; sampled again with enough passes where sequences grow."""
    samples = _distinct(model, rng, None, FIT_TRACES + HELD_OUT)
    traces = [tracer(sizes) for sizes in samples[:4]]
    if len({len(t.ops) for t in traces}) == 1:
        return traces + [tracer(sizes) for sizes in samples[4:]], None
    traces += [tracer(sizes) for sizes in samples[4:]]
    trip = _trip_variable(traces, model)
    samples = _distinct(model, rng, trip, FIT_TRACES + HELD_OUT)
    return [tracer(sizes) for sizes in samples], trip


def _distinct(
    model: SizeModel, rng: random.Random, trip: str | None, count: int
) -> list[dict[str, int]]:
    found: list[dict[str, int]] = []
    attempts = 0
    while len(found) < count:
        sizes = model.sample(rng, trip)
        attempts += 1
        if sizes not in found or attempts > 50 * count:
            found.append(sizes)
    return found


def _trip_variable(traces: Sequence[Trace], model: SizeModel) -> str:
    """The one internal variable that the number of operators grows with."""
    lengths = [len(t.ops) for t in traces]
    fitted = Fitter([t.sizes for t in traces], model.variables).fit(lengths)
    names = fitted.symbols() if isinstance(fitted, Expr) else frozenset()
    if len(names) != 1:
        by_length = sorted(traces, key=lambda t: len(t.ops))
        cause = _first_change(by_length[0], by_length[-1])
        raise DerivationError(
            "the number of operators is no function of one size",
            operator=cause.op if cause else "",
            where=(cause.where or cause.module) if cause else "",
            advice="loops must run over one size only",
        )
    return next(iter(names))


def _first_change(a: Trace, b: Trace) -> OpRecord | None:
    for x, y in zip(a.ops, b.ops, strict=False):
        if token(x) != token(y):
            return y
    return b.ops[len(a.ops)] if len(b.ops) > len(a.ops) else None


def _assemble(builder: Builder, model: SizeModel, trip: str | None) -> Derived:
    calls = builder.calls()
    alignment = builder.alignment
    steps = tuple(
        Step(price(call, record.pairs_at), record.module, record.phase, _passes(builder, number))
        for number, (call, record) in enumerate(calls)
    )
    families = builder.families(calls)
    held = {
        kind: builder.held(lambda t: t.held, (kind,)) for kind in _TRAIN_KINDS
    }
    labels = [record.op for _, record in calls]
    live_sets = LiveSets(families, alignment, builder.trips, builder.trip, labels)
    points = moments(alignment, builder.trip)
    live = live_sets.live(points)
    base = {kind: nbytes for kind, (_, nbytes) in held.items() if nbytes != 0}
    core_families = [f for f in families if is_core(steps[f.slot].module)]
    core_sets = LiveSets(core_families, alignment, builder.trips, builder.trip, labels)
    core_points = [p for p in points if is_core(steps[p.slot].module)]
    core_live = core_sets.live(core_points)
    left = builder.held(lambda t: t.left, ("state",))[1]
    state = held["state"][1] if held["state"][1] != 0 else left
    timeline = tuple(
        _moment(p, {**base, **row}, steps) for p, row in zip(points, live, strict=True)
    )
    return Derived(
        model=model,
        steps=steps,
        moments=timeline,
        held=held,
        state_bytes=state if state != 0 else None,
        saved_bytes=_saved(builder, families),
        depth=builder.fit_totals([_depth(t, builder.backend) for t in builder.traces]),
        trip=trip,
        verified_at=tuple(dict(t.sizes) for t in builder.traces[FIT_TRACES:]),
        gaps=tuple(sorted({s.priced.call.op for s in steps if s.priced.cost is None})),
        core_moments=tuple(
            _moment(p, row, steps) for p, row in zip(core_points, core_live, strict=True)
        ),
        masks_fitted=builder.masks_fitted,
        totals={name: quantity_total(steps, name) for name in COUNTED},
        peaks=tuple(dict.fromkeys(total(m.live.values()) for m in timeline)),
    )


def is_core(module: str) -> bool:
    """Whether a module path lies in a submodule named ``core``."""
    return "core" in module.split(".")


def _passes(builder: Builder, number: int) -> tuple[Size, Size] | None:
    slot = builder.alignment.slots[number]
    if slot.loop < 0:
        return None
    assert builder.trip is not None
    return PEEL, builder.trip + (builder.alignment.loops[slot.loop].offset - 1 - PEEL)


def _moment(point: MomentAt, live: Mapping[str, Size], steps: Sequence[Step]) -> Moment:
    step = steps[point.slot]
    kinds = dict(live)
    if step.priced.cost is not None and step.priced.cost.scratch_bytes != 0:
        kinds["scratch"] = step.priced.cost.scratch_bytes
    if point.pass_number is not None:
        values = {PASS: point.pass_number}
        kinds = {k: as_expr(v).subs(values) for k, v in kinds.items()}
    where = f"{step.module} {step.phase} {step.priced.call.op}".strip()
    return Moment(where, kinds)


def _saved(builder: Builder, families: Sequence[object]) -> Size | None:
    """Bytes kept for backward: every saved storage but parameters."""
    rows = []
    for t in builder.traces:
        rows.append(
            sum(s.nbytes for s in t.storages if s.saved and s.kind not in ("parameters", "buffers"))
        )
    parts: list[Size] = []
    rest = list(rows)
    for family in families:
        if not family.saved:  # type: ignore[attr-defined]
            continue
        nbytes = family.nbytes  # type: ignore[attr-defined]
        if family.loop >= 0:  # type: ignore[attr-defined]
            first, last = _passes(builder, family.slot)  # type: ignore[attr-defined,misc]
            nbytes = sum_range(nbytes, PASS, first, last)
        parts.append(nbytes)
        for i, members in enumerate(family.members):  # type: ignore[attr-defined]
            rest[i] -= sum(m.nbytes for m in members)
    inputs = builder.fit_totals(rest)
    if inputs is None:
        return None
    return total([*parts, inputs])


def _depth(t: Trace, backend: str) -> int:
    steps = []
    for record in t.ops:
        cost = price(concrete_call(record, backend), record.pairs_at).cost
        steps.append(int(cost.steps) if cost is not None else 1)  # type: ignore[arg-type]
    return depth(t.ops, steps)


def check(derived: Derived, t: Trace, backend: str) -> str | None:
    """Compare every total and the peak with the rules over one real run; None if all are equal.

    Exact integers must be equal; where a rule has a logarithm, equal to 1e-9.
    """
    priced = [price(concrete_call(r, backend), r.pairs_at) for r in t.ops]
    for name in COUNTED:
        if name == "flop_useful" and not derived.masks_fitted:
            continue
        count = as_number(total(p.quantity(name) for p in priced), {})
        value = as_number(derived.totals[name], t.sizes)
        if abs(value - count) > (1e-9 * abs(count) if isinstance(value, float) else 0):
            return f"the formula for {name} gives {value} where a run counts {count}"
    sizes = {**t.sizes, "threads": 1}
    count = max(
        (live + as_number(p.cost.scratch_bytes if p.cost else 0, sizes)
         for live, p in zip(t.live_bytes(), priced, strict=True)),
        default=0,
    )  # fmt: skip
    value = max((as_number(p, sizes) for p in derived.peaks), default=0)
    if value != count:
        return f"the formula for peak_bytes gives {value} where a run counts {count}"
    return None


def quantity_total(steps: Sequence[Step], name: str) -> Size:
    """One counted quantity over the whole program."""
    return total(s.over_passes(s.priced.quantity(name)) for s in steps)


def as_number(value: Size | float, sizes: Mapping[str, int]) -> float | int:
    """An int where the value is exact, else a float."""
    if isinstance(value, Expr):
        result = value.evaluate(sizes)
        return float(result) if not isinstance(result, int) else result
    return value
