"""Derives the formulas of one program class: trace, align, fit, sum, check against every trace."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from costlab.algebra import Expr, Size, as_expr, sum_range, total
from costlab.derivation.align import PEEL, Alignment, alignments, token
from costlab.derivation.build import Builder, Known
from costlab.derivation.lifetimes import PASS, LiveSets, MomentAt, moments
from costlab.derivation.sizes import FEW_LAYERS, LAYER_NAMES, LAYER_RANGES, TRIP_RANGES, SizeModel
from costlab.derivation.totals import COUNTED, Priced, concrete_call, depth, price
from costlab.errors import DerivationError
from costlab.formulas.prune import prune
from costlab.graph import Moment
from costlab.trace.records import OpRecord, Trace

FIT_TRACES = 8
FIT_TRACES_NARROWED = 4  # a size or more less to tell apart, and most dimensions known
HELD_OUT = 2
_PROBES = 4
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
    alignment: Alignment
    trip: str | None
    fitted_at: tuple[Mapping[str, int], ...]
    verified_at: tuple[Mapping[str, int], ...]
    gaps: tuple[str, ...]
    core_moments: tuple[Moment, ...]
    masks_fitted: bool
    totals: Mapping[str, Size]
    peaks: tuple[Size, ...]
    known: Known


@dataclass(frozen=True, slots=True)
class Run:
    """A trace with the price of each of its operators, in integers."""

    trace: Trace
    priced: tuple[Priced, ...]

    @classmethod
    def of(cls, trace: Trace, backend: str) -> Run:
        return cls(trace, tuple(price(concrete_call(r, backend), r.pairs_at) for r in trace.ops))


def derive_class(
    tracer: Tracer, model: SizeModel, backend: str, hints: Iterable[str] = (), seed: int = 0
) -> Derived:
    """Derive one class of a program.

    Args:
        tracer: runs the program once at the given sizes (internal variables included).
        model: the sizes this class ranges over.
        backend: "cpu" or "cuda", which the rules read.
        hints: symbols that may count a loop's passes.
        seed: of the sizes traced at.

    Raises:
        DerivationError: if no formula reproduces every trace.
    """
    rng = random.Random(seed)
    samples = _distinct(model, rng, None, TRIP_RANGES[0])
    known = next(iter(model.numbers), None)
    if known is None:
        probes = [tracer(sizes) for sizes in samples[:_PROBES]]
        if len({len(t.ops) for t in probes}) == 1:
            return _derive(probes + [tracer(s) for s in samples[_PROBES:]], model, None, backend)
        trip = _trip_variable(tracer, probes, model, samples, hints)
    else:
        trip = known
    ranges = _trip_ranges(trip, model)
    for last, passes in enumerate(ranges, 1):
        samples = _distinct(model, rng, trip, passes)
        try:
            return _derive([tracer(sizes) for sizes in samples], model, trip, backend)
        except DerivationError:
            # What lives over several passes needs more of them to settle.
            if last == len(ranges):
                raise
    raise AssertionError


def derive_narrowed(
    tracer: Tracer, model: SizeModel, backend: str, like: Derived, seed: int = 0
) -> Derived | None:
    """Derive a class that is another with some sizes fixed, from fewer traces.

    The dimensions of ``like`` are tried first; every trace must be reproduced all the same. None
    where that finds no formulas: :func:`derive_class` takes more traces.

    Raises:
        ModuleError: if the module refuses such sizes.
    """
    trip = like.trip
    if trip is not None and trip not in model.variables:
        return None
    rng = random.Random(seed)
    samples = _distinct(model, rng, None, TRIP_RANGES[0])
    if trip is not None:
        samples = _distinct(model, rng, trip, _trip_ranges(trip, model)[0])
    traces = [tracer(at) for at in (*samples[:FIT_TRACES_NARROWED], *samples[-HELD_OUT:])]
    known = like.known.narrowed(model.narrowing(like.model), samples[0])
    try:
        found = _derive(traces, model, trip, backend, known)
    except DerivationError:
        return None
    return found if found.masks_fitted == like.masks_fitted else None


def _derive(
    traces: Sequence[Trace],
    model: SizeModel,
    trip: str | None,
    backend: str,
    like: Known | None = None,
) -> Derived:
    """Formulas from the first way to line up the traces that reproduces all of them."""
    runs = [Run.of(t, backend) for t in traces]
    trips = [t.sizes[trip] for t in traces] if trip else None
    first: DerivationError | None = None
    for alignment in alignments(traces, trips):
        builder = Builder(traces, alignment, model.variables, trip, backend, like)
        try:
            derived = _assemble(builder, model, trip, runs)
            _demand(derived, runs)
            return derived
        except DerivationError as error:
            first = first or error
    assert first is not None
    raise first


def _trip_ranges(trip: str, model: SizeModel) -> tuple[Sequence[int], ...]:
    """The numbers of passes to trace a loop with, in the order to try them."""
    if trip not in LAYER_NAMES:
        return TRIP_RANGES
    return (FEW_LAYERS, *LAYER_RANGES) if trip in model.numbers else LAYER_RANGES


def _demand(derived: Derived, runs: Sequence[Run]) -> None:
    """Raise unless the formulas reproduce every run."""
    for run in runs:
        problem = check_run(derived, run)
        if problem is not None:
            where = ", ".join(f"{k}={v}" for k, v in run.trace.sizes.items())
            raise DerivationError(problem, where=where)


def _distinct(
    model: SizeModel, rng: random.Random, trip: str | None, passes: Sequence[int]
) -> list[dict[str, int]]:
    found: list[dict[str, int]] = []
    attempts = 0
    while len(found) < FIT_TRACES + HELD_OUT:
        sizes = model.sample(rng, trip, passes)
        attempts += 1
        if sizes not in found or attempts > 500:
            found.append(sizes)
    return found


def _trip_variable(
    tracer: Tracer,
    probes: Sequence[Trace],
    model: SizeModel,
    samples: Sequence[Mapping[str, int]],
    hints: Iterable[str],
) -> str:
    """The one internal variable that the number of operators grows with."""
    for name in hints:
        if name in model.variables and _explains(probes, name):
            return name
    candidates = [name for name in model.variables if _explains(probes, name)]
    if len(candidates) == 1:
        return candidates[0]
    more = [*probes, *(tracer(sizes) for sizes in samples[len(probes) :])]
    candidates = [name for name in model.variables if _explains(more, name)]
    if candidates:
        return candidates[0]
    by_length = sorted(more, key=lambda t: len(t.ops))
    cause = _first_change(by_length[0], by_length[-1])
    raise DerivationError(
        "the number of operators changes with the data, or with more than one size",
        operator=cause.op if cause else "",
        where=(cause.where or cause.module) if cause else "",
        advice="a loop must run over one size, and no branch may depend on values",
    )


def _explains(traces: Sequence[Trace], name: str) -> bool:
    """Whether the number of operators is a straight line over the size ``name``."""
    points = sorted({(t.sizes[name], len(t.ops)) for t in traces})
    (x0, y0), (x1, y1) = points[0], points[-1]
    if len({x for x, _ in points}) < min(3, len(points)) or x0 == x1:
        return False
    return all((y - y0) * (x1 - x0) == (y1 - y0) * (x - x0) for x, y in points)


def _first_change(a: Trace, b: Trace) -> OpRecord | None:
    for x, y in zip(a.ops, b.ops, strict=False):
        if token(x) != token(y):
            return y
    return b.ops[len(a.ops)] if len(b.ops) > len(a.ops) else None


def _assemble(builder: Builder, model: SizeModel, trip: str | None, runs: Sequence[Run]) -> Derived:
    calls = builder.calls()
    alignment = builder.alignment
    steps = tuple(
        Step(price(call, record.pairs_at), record.module, record.phase, _passes(builder, number))
        for number, (call, record) in enumerate(calls)
    )
    families = builder.families(calls)
    held = {kind: builder.held(lambda t: t.held, kind) for kind in _TRAIN_KINDS}
    records = [record for _, record in calls]
    live_sets = LiveSets(families, alignment, builder.trips, builder.trip, records)
    points = moments(alignment, builder.trip)
    live = live_sets.live(points)
    base = {kind: nbytes for kind, (_, nbytes) in held.items() if nbytes != 0}
    core_families = [f for f in families if is_core(steps[f.slot].module)]
    core_sets = LiveSets(core_families, alignment, builder.trips, builder.trip, records)
    core_points = [p for p in points if is_core(steps[p.slot].module)]
    core_live = core_sets.live(core_points)
    left = builder.held(lambda t: t.left, "state")[1]
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
        depth=builder.fit_totals([_depth(run) for run in runs]),
        alignment=alignment,
        trip=trip,
        fitted_at=tuple(dict(t.sizes) for t in builder.traces[:-HELD_OUT]),
        verified_at=tuple(dict(t.sizes) for t in builder.traces[-HELD_OUT:]),
        gaps=tuple(sorted({s.priced.call.op for s in steps if s.priced.cost is None})),
        core_moments=tuple(
            _moment(p, row, steps) for p, row in zip(core_points, core_live, strict=True)
        ),
        masks_fitted=builder.masks_fitted,
        totals={name: quantity_total(steps, name) for name in COUNTED},
        peaks=tuple(dict.fromkeys(total(m.live.values()) for m in timeline)),
        known=builder.known(),
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
        return _each_input(builder, parts, rest)
    return total([*parts, inputs])


def _each_input(builder: Builder, parts: Sequence[Size], rest: Sequence[int]) -> Size | None:
    """The saved bytes where only each saved input, not their sum, shows its formula."""
    kept = [
        [s.nbytes for s in t.storages if s.saved and s.kind == "inputs"] for t in builder.traces
    ]
    if [sum(row) for row in kept] != list(rest) or len({len(row) for row in kept}) != 1:
        return None
    found = [builder.fit_totals(column) for column in zip(*kept, strict=True)]
    if any(item is None for item in found):
        return None
    return total([*parts, *(item for item in found if item is not None)])


def _depth(run: Run) -> int:
    steps = [int(p.cost.steps) if p.cost is not None else 1 for p in run.priced]  # type: ignore[arg-type]
    return depth(run.trace.ops, steps)


def check(derived: Derived, trace: Trace, backend: str) -> str | None:
    """Compare the formulas with one real run at sizes of their class; None if all are equal."""
    return check_run(derived, Run.of(trace, backend))


def check_run(derived: Derived, run: Run) -> str | None:
    """Compare operator sequence, every total and the peak with a run; None if all are equal.

    Exact integers must be equal; where a rule has a logarithm, equal to 1e-9.
    """
    trace, sizes = run.trace, {**run.trace.sizes, "threads": 1}
    trip = sizes[derived.trip] if derived.trip is not None else 0
    if not derived.alignment.describes(trace, trip):
        return "the run has another sequence of operators"
    for name in COUNTED:
        if name == "flop_useful" and not derived.masks_fitted:
            continue
        count = as_number(total(p.quantity(name) for p in run.priced), {})
        value = as_number(derived.totals[name], sizes)
        if abs(value - count) > (1e-9 * abs(count) if isinstance(value, float) else 0):
            return f"the formula for {name} gives {value} where a run counts {count}"
    count = live_peak(run)
    value = max((as_number(p, sizes) for p in derived.peaks), default=0)
    if value != count:
        return f"the formula for peak_bytes gives {value} where a run counts {count}"
    return None


def peaks_are_reached(derived: Derived, run: Run) -> bool:
    """Whether every candidate of the peak is held at an operator of a run, or under one that is.

    Under it at all sizes with the run's number of passes, not only at the run's.
    """
    assert derived.trip is not None
    sizes = {**run.trace.sizes, "threads": 1}
    held = set(_live(run))
    passes = {derived.trip: sizes[derived.trip]}
    reached: list[Expr] = []
    missed: list[Expr] = []
    for candidate in derived.peaks:
        found = as_number(candidate, sizes) in held
        (reached if found else missed).append(as_expr(candidate).subs(passes))
    return set(prune((*reached, *missed), {})) <= set(reached)


def live_peak(run: Run) -> float | int:
    """Most bytes alive at one operator of a run, kernel scratch included (one thread)."""
    return max(_live(run), default=0)


def _live(run: Run) -> Iterator[float | int]:
    for alive, priced in zip(run.trace.live_bytes(), run.priced, strict=True):
        cost = priced.cost
        yield alive + (as_number(cost.scratch_bytes, {"threads": 1}) if cost is not None else 0)


def quantity_total(steps: Sequence[Step], name: str) -> Size:
    """One counted quantity over the whole program."""
    return total(s.over_passes(s.priced.quantity(name)) for s in steps)


def as_number(value: Size | float, sizes: Mapping[str, int]) -> float | int:
    """An int where the value is exact, else a float."""
    if isinstance(value, Expr):
        result = value.evaluate(sizes)
        return float(result) if not isinstance(result, int) else result
    return value
