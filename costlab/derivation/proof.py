"""Proves a class's formulas, where its program can be run once with symbolic sizes.

The fitted program was seen at a few sizes. The symbolic run is the program at all sizes for which
its guards hold. Where these follow from the class's own domain, and the run has the same
operators, dimensions and bytes alive at every operator, the formulas are proved: they rest on
torch's symbolic shapes instead of on samples. Three things still rest on real runs: which
operators write in place, what a mask keeps, and sizes of 1, which torch takes for numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from costlab.algebra import Expr, product, total
from costlab.derivation.align import plain_module
from costlab.derivation.classes import ClassFound
from costlab.derivation.engine import Derived, Step
from costlab.derivation.relations import SizeReader
from costlab.derivation.sizes import SizeModel
from costlab.derivation.totals import depth
from costlab.errors import AlgebraError
from costlab.graph import DTYPE_BYTES, Arg, TensorSpec
from costlab.i18n import _
from costlab.trace.records import OpRecord, Trace
from costlab.trace.symbolic import Guard, SpecialisedError, SymbolicSizes, run_symbolically

if TYPE_CHECKING:
    from costlab.derivation.work import SourceTracer

# Typical sizes, for they decide which way the program goes: even head counts, head sizes that are
# multiples of 8, lengths as people use them.
_HINTS = {
    "b": 4, "n": 1024, "m": 768, "d": 512, "h": 8, "g": 2, "k": 64, "f": 2048, "w": 128, "c": 64,
    "R": 4, "r": 8, "s": 16, "e": 8, "t": 2, "G": 4, "L": 4, "V": 32000,
}  # fmt: skip
_OTHER_HINT = 16
_LEAST = 2  # torch takes symbolic sizes to be at least this


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a class is proved; ``reason`` is why not.

    ``conditions`` are demanded beyond the class's domain. Those of a proof only say that sizes
    are not 1; others are what the program was found to ask of them.
    """

    proved: bool
    reason: str = ""
    conditions: tuple[str, ...] = ()


def prove(tracer: SourceTracer, found: ClassFound) -> Proof:
    """Run a class's program once with symbolic sizes and compare it with the fitted one.

    Call within :func:`costlab.derivation.work.tracing` of the class's backend. Whatever the
    program does, nothing is raised, and what is changed for the run is changed back.
    """
    derived = found.derived
    if derived.trip is not None:
        name = derived.model.written(derived.trip)
        return Proof(False, _("passes of a loop are counted one by one ({name})").format(name=name))
    if derived.model.counted:
        return Proof(False, _("a number of blocks is rounded up"))
    first = _attempt(tracer, found, python_dispatcher=False)
    if first.proved or first.conditions:
        return first
    # Not all of torch's own operators take symbolic sizes. Its Python forms of them may be
    # other programs, but where they are the same one that is no matter.
    second = _attempt(tracer, found, python_dispatcher=True)
    return second if second.proved else first


def _attempt(tracer: SourceTracer, found: ClassFound, *, python_dispatcher: bool) -> Proof:
    model, bounds = found.derived.model, _bounds(found)
    sizes = SymbolicSizes(_hints(model))
    least = {name: max(_LEAST, bounds.get(name, 1)) for name in model.variables}
    reader = SizeReader(sizes.names, least, _below(model))
    sizes.read = reader.expression
    try:
        trace = run_symbolically(
            tracer.source.factory(tracer.mode),
            {**_arguments(tracer, model, sizes.integers), **tracer.options},
            tracer.mode,
            tracer.dtype,
            sizes,
            [step.priced.call for step in found.derived.steps],
            python_dispatcher=python_dispatcher,
        )
        asked = tuple(_asked(sizes.conditions(), reader, model))
        if asked:
            return Proof(False, _("it holds only where {those}").format(those="; ".join(asked)), asked)
        difference = next(_differences(found.derived, trace), None)
    except Exception as error:
        return Proof(False, _failure(error, reader, model))
    if difference is not None:
        return Proof(False, difference)
    ones = [model.written(name) for name in model.variables if bounds.get(name, 1) < _LEAST]
    return Proof(True, conditions=tuple(f"{name} >= {_LEAST}" for name in ones))


# -- what the program is given -------------------------------------------------------------------


def _bounds(found: ClassFound) -> dict[str, int]:
    """The least value that the class's domain allows each variable, where it says so."""
    named = {found.derived.model.written(name): name for name in found.derived.model.variables}
    return {
        named[c.left]: c.right
        for c in found.domain
        if c.kind == ">=" and c.left in named and isinstance(c.right, int)
    }


def _below(model: SizeModel) -> list[tuple[str, str]]:
    pairs = (*model.below, *model.strictly_below)
    return [pair for pair in pairs if set(pair) <= set(model.variables)]


def _hints(model: SizeModel) -> dict[str, int]:
    hints = {name: _HINTS.get(name, _OTHER_HINT) for name in model.variables}
    for smaller, larger in _below(model):
        hints[larger] = max(hints[larger], hints[smaller] + 1)
    return hints


def _arguments(
    tracer: SourceTracer, model: SizeModel, integers: Mapping[str, Any]
) -> dict[str, Any]:
    """The factory's sizes: symbolic integers, and products where one size divides another."""
    known = {**tracer.fixed, **model.fixed, **integers}
    factors = {multiple: factor for factor, multiple in model.divides}

    def value(name: str) -> Any:
        if name in known:
            return known[name]
        factor = factors[name]
        return value(factor) * known[model.quotient(factor, name)]

    return {name: value(name) for name in tracer.source.symbols}


# -- what it asks of the sizes -------------------------------------------------------------------


def _failure(error: BaseException, reader: SizeReader, model: SizeModel) -> str:
    """Why the program could not be run with symbolic sizes."""
    cause = error
    while cause.__cause__ is not None and not isinstance(cause, SpecialisedError):
        cause = cause.__cause__
    if isinstance(cause, SpecialisedError):
        size = _written(cause.node, reader, model)
        return _("it needs {size} as a number, {place}").format(size=size, place=cause.place)
    text = reader.named(str(cause)).strip()
    return f"{type(cause).__name__}: {text.splitlines()[0] if text else ''}"


def _asked(guards: list[Guard], reader: SizeReader, model: SizeModel) -> list[str]:
    """Guards that do not follow from the bounds, with the line each comes from."""
    found = {}
    for guard in guards:
        if not reader.is_sure(guard.node):
            found[_written(guard.node, reader, model)] = guard.place
    return [f"{text}, {place}" if place else text for text, place in found.items()]


def _written(node: Any, reader: SizeReader, model: SizeModel) -> str:
    """A size or a relation in the user's symbols."""
    try:
        relation = reader.relation(node)
        if relation is None:
            return str(model.public(reader.expression(node)))
        left, right = model.public(relation.left), model.public(relation.right)
        return f"{left} {relation.operator} {right}"
    except AlgebraError:
        return reader.named(str(node))


# -- whether it is the fitted program ------------------------------------------------------------


def _differences(derived: Derived, trace: Trace) -> Iterator[str]:
    """Everything in which the symbolic run differs from the fitted program."""
    for number, (step, record) in enumerate(zip_longest(derived.steps, trace.ops)):
        if step is None or record is None or not _same_operator(step, record):
            fitted = _("nothing") if step is None else step.priced.call.op
            symbolic = _("nothing") if record is None else record.op
            yield _("operator {number} is {symbolic}, in real runs {fitted}").format(
                number=number + 1, symbolic=symbolic, fitted=fitted
            )
            return
    if not derived.alignment.describes(trace, 0):
        yield _("an operator has other arguments or results than in real runs")
    for step, record in zip(derived.steps, trace.ops, strict=True):
        call = step.priced.call
        for name, value in (*call.args.items(), ("result", call.outs)):
            seen = record.outs if name == "result" else record.args.get(name)
            if not _same(value, seen):
                yield _("{operator}: {name} is {symbolic}, in real runs {fitted}").format(
                    operator=call.op, name=name, symbolic=_shown(seen), fitted=_shown(value)
                )
    for step, moment, live in zip(derived.steps, derived.moments, trace.live_bytes(), strict=True):
        fitted_live = total(v for kind, v in moment.live.items() if kind != "scratch")
        if fitted_live != live:
            yield _("{operator}: {symbolic} bytes are alive, in real runs {fitted}").format(
                operator=step.priced.call.op, symbolic=live, fitted=fitted_live
            )
    yield from _other_differences(derived, trace)


def _other_differences(derived: Derived, trace: Trace) -> Iterator[str]:
    """Sums over the run: what exists before it, what backward keeps, and the longest chain."""
    for kind, (elements, nbytes) in derived.held.items():
        tensors = [item for item in trace.held if item.kind == kind]
        counts = [product(item.shape) for item in tensors]
        sizes = [c * DTYPE_BYTES[t.dtype] for c, t in zip(counts, tensors, strict=True)]
        if total(counts) != elements or total(sizes) != nbytes:
            yield _("{kind} have another size than in real runs").format(kind=kind)
    saved = [
        s.nbytes for s in trace.storages if s.saved and s.kind not in ("parameters", "buffers")
    ]
    if total(saved) != derived.saved_bytes:
        yield _("other tensors are kept for backward than in real runs")
    costs = [step.priced.cost for step in derived.steps]
    steps = [cost.steps if cost is not None else 1 for cost in costs]
    if not all(isinstance(step, int) for step in steps):
        yield _("the number of dependent steps depends on the sizes")
    elif depth(trace.ops, steps) != derived.depth:
        yield _("the longest chain of operators is another than in real runs")


def _same_operator(step: Step, record: OpRecord) -> bool:
    here = (record.op, plain_module(record.module), record.phase)
    return here == (step.priced.call.op, plain_module(step.module), step.phase)


def _same(fitted: Arg, symbolic: Arg) -> bool:
    """Whether two arguments have the same dimensions; other values that no size decides pass."""
    if isinstance(fitted, TensorSpec):
        if not isinstance(symbolic, TensorSpec) or fitted.shape != symbolic.shape:
            return False
        # Along a dimension of 1 a stride says nothing.
        strides = zip(fitted.shape, fitted.stride, symbolic.stride, strict=True)
        return all(size == 1 or one == other for size, one, other in strides)
    if isinstance(fitted, tuple):
        return (
            isinstance(symbolic, tuple)
            and len(fitted) == len(symbolic)
            and all(map(_same, fitted, symbolic))
        )
    if isinstance(fitted, Expr) or isinstance(symbolic, Expr):
        return fitted is None or fitted == symbolic
    return True


def _shown(value: Arg) -> str:
    if isinstance(value, TensorSpec):
        return "[" + ", ".join(map(str, value.shape)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_shown, value)) + ")"
    return str(value)
