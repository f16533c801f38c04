"""A symbolic run is compared with the fitted program in everything: any difference is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from costlab.algebra import as_expr
from costlab.derivation.classes import ClassFound, size_models
from costlab.derivation.engine import Derived, derive_class
from costlab.derivation.proof import prove
from costlab.derivation.work import SourceTracer, tracing
from costlab.sources.resolve import resolve


@pytest.fixture(scope="module")
def attention() -> tuple[SourceTracer, ClassFound]:
    """A class that is proved, and what traces it."""
    source = resolve("full_attention")
    tracer = SourceTracer(source, "train")
    model = size_models(source.symbols, source.constraints, "train")[0]
    with tracing("cpu"):
        return tracer, ClassFound(derive_class(tracer, model, "cpu"), model.domain())


def with_other_rows(derived: Derived) -> Derived:
    step = derived.steps[0]
    call = step.priced.call
    out = replace(call.outs[0], shape=(call.outs[0].shape[0] + as_expr(1), call.outs[0].shape[1]))
    priced = replace(step.priced, call=replace(call, outs=(out,)))
    return replace(derived, steps=(replace(step, priced=priced), *derived.steps[1:]))


def without_last_step(derived: Derived) -> Derived:
    return replace(derived, steps=derived.steps[:-1])


def with_more_alive(derived: Derived) -> Derived:
    last = derived.moments[-1]
    more = replace(last, live={**last.live, "temporary": as_expr(4)})
    return replace(derived, moments=(*derived.moments[:-1], more))


def with_more_saved(derived: Derived) -> Derived:
    assert derived.saved_bytes is not None
    return replace(derived, saved_bytes=derived.saved_bytes + 8)


def with_more_parameters(derived: Derived) -> Derived:
    elements, nbytes = derived.held["parameters"]
    return replace(derived, held={**derived.held, "parameters": (elements + 1, nbytes + 4)})


def with_another_depth(derived: Derived) -> Derived:
    return replace(derived, depth=1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (with_other_rows, "aten.mm.default: result is ([b*n, h*k]), in real runs ([b*n + 1, h*k])"),
        (without_last_step, "in real runs nothing"),
        (with_more_alive, "bytes are alive, in real runs"),
        (with_more_saved, "other tensors are kept for backward"),
        (with_more_parameters, "parameters have another size"),
        (with_another_depth, "the longest chain of operators"),
    ],
)
def test_another_program_than_the_fitted_one_is_not_proved(
    attention: tuple[SourceTracer, ClassFound], change: Callable[[Derived], Derived], reason: str
) -> None:
    tracer, found = attention

    with tracing("cpu"):
        result = prove(tracer, replace(found, derived=change(found.derived)))

    assert not result.proved
    assert reason in result.reason
