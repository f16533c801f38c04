"""Whether a run with symbolic sizes is the program that was fitted to real runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from costlab.algebra import Expr, product, total
from costlab.derivation.align import plain_module
from costlab.derivation.engine import Derived, Step
from costlab.derivation.totals import depth
from costlab.graph import DTYPE_BYTES, Arg, TensorSpec
from costlab.i18n import _
from costlab.trace.records import OpRecord, Trace


def differences(derived: Derived, trace: Trace) -> Iterator[str]:
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
    numbers = [step for step in steps if isinstance(step, int)]
    if len(numbers) < len(steps):
        yield _("the number of dependent steps of an operator depends on the sizes")
    elif depth(trace.ops, numbers) != derived.depth:
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
