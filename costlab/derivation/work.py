"""The torch side of ``derive``: builds programs of a source, traces them, records the classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import torch

from costlab.algebra import Expr, symbol
from costlab.derivation.assemble import cost_class
from costlab.derivation.classes import ClassFound, find_classes, size_models
from costlab.derivation.engine import Tracer
from costlab.derivation.masks import carry_masks
from costlab.derivation.opaque import settle
from costlab.formulas.record import CostClass, Derivation
from costlab.formulas.text import parse
from costlab.sources.program import prepare
from costlab.symbols import describe
from costlab.trace.records import Trace
from costlab.trace.run import quiet_collector, trace

if TYPE_CHECKING:
    from costlab.sources.source import Source


def derive_source(
    source: Source,
    mode: str,
    dtype: str,
    backend: str,
    fixed: Mapping[str, int],
    options: Mapping[str, bool],
) -> Derivation:
    """See :func:`costlab.derivation.api.derive`."""
    tracer = make_tracer(source, mode, dtype, backend, options)
    symbols = tuple(s for s in source.symbols if s not in fixed)
    models = size_models(symbols, source.constraints, mode)
    rules_backend = "cuda" if backend == "cuda" else "cpu"
    with _deterministic(), quiet_collector(), backend_context(backend):
        found = find_classes(_with_fixed(tracer, fixed), models, rules_backend, source.loops)
    classes = tuple(_record(item, mode) for item in found)
    gaps = tuple(sorted({gap for item in found for gap in item.derived.gaps}))
    auxiliary = _auxiliary(source, fixed)
    rerolled = tuple(dict.fromkeys(i.derived.trip for i in found if i.derived.trip))
    return Derivation(
        architecture=source.name,
        mode=mode,
        dtype=dtype,
        backend=backend,
        derived="verified",
        classes=classes,
        symbols=_meanings(classes, source, auxiliary),
        sizes=symbols,
        defaults={k: v for k, v in source.defaults.items() if k in symbols},
        auxiliary=auxiliary,
        rerolled=rerolled,
        gaps=gaps,
        claims=source.spec.claims if source.spec is not None else (),
        notes=source.notes,
        options=dict(options),
    )


def make_tracer(
    source: Source, mode: str, dtype: str, backend: str, options: Mapping[str, bool]
) -> Tracer:
    """A function that builds the source at some sizes and traces one pass."""

    def tracer(sizes: Mapping[str, int]) -> Trace:
        given = {name: sizes[name] for name in source.symbols}
        program = prepare(source.program(mode, given, options), mode, dtype)
        found = trace(program, mode, sizes)
        carry_masks(found.ops)
        settle(found)
        return found

    return tracer


def _with_fixed(tracer: Tracer, fixed: Mapping[str, int]) -> Tracer:
    if not fixed:
        return tracer
    return lambda sizes: tracer({**sizes, **fixed})


@contextmanager
def _deterministic() -> Iterator[None]:
    """One thread and a seeded generator, both given back afterwards."""
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(state)


def backend_context(backend: str) -> AbstractContextManager[object]:
    """What makes a CPU run the operators of ``backend``."""
    if backend == "cuda":
        from costlab.ops.standins import CudaStandins

        return CudaStandins()
    if backend == "math":
        from torch.nn.attention import SDPBackend, sdpa_kernel

        return sdpa_kernel(SDPBackend.MATH)
    return nullcontext()


def _record(found: ClassFound, mode: str) -> CostClass:
    return cost_class(found.derived, mode, found.derived.model.public, found.domain)


def _auxiliary(source: Source, fixed: Mapping[str, int]) -> dict[str, Expr]:
    names = set(source.symbols)
    auxiliary: dict[str, Expr] = {}
    if {"h", "d"} <= names and "k" not in names:
        auxiliary["k"] = symbol("d") / symbol("h")
    if source.spec is not None:
        auxiliary.update({name: parse(text) for name, text in source.spec.ties.items()})
    return {k: v for k, v in auxiliary.items() if k not in fixed}


def _meanings(
    classes: tuple[CostClass, ...], source: Source, auxiliary: Mapping[str, Expr]
) -> dict[str, str]:
    used: set[str] = set(source.symbols)
    for item in classes:
        for quantity in item.cost.values():
            if quantity.expr is not None:
                used |= quantity.expr.symbols()
    known = {name: describe(name) for name in sorted(used)}
    return {name: found.meaning if found else "a size of the module" for name, found in known.items()}
