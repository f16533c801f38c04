"""The torch side of ``derive``: builds programs of a source, traces them, records the classes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch

from costlab.algebra import Expr, symbol
from costlab.derivation.assemble import cost_class
from costlab.derivation.classes import ClassFound, find_classes, size_models
from costlab.derivation.engine import Tracer
from costlab.derivation.masks import carry_masks
from costlab.derivation.opaque import settle
from costlab.derivation.optimizer import is_optimizer, optimizer_step
from costlab.derivation.proof import Proof
from costlab.derivation.proof import prove as proof_of
from costlab.derivation.sizes import SizeModel
from costlab.errors import DerivationError, ModuleError
from costlab.formulas.record import CostClass, Derivation
from costlab.formulas.text import parse
from costlab.i18n import _
from costlab.sources.layers import (
    AT_LEAST,
    EqualLayers,
    find_equal_layers,
    first_layers_only,
    keep_layers,
    layer_class,
)
from costlab.sources.program import prepare
from costlab.symbols import describe
from costlab.trace.records import Trace
from costlab.trace.run import quiet_collector, trace

if TYPE_CHECKING:
    from costlab.sources.source import Source

LAYERS = "_layers"  # how many equal layers a deep module is traced with


def derive_source(
    source: Source,
    mode: str,
    dtype: str,
    backend: str,
    fixed: Mapping[str, int],
    options: Mapping[str, bool],
    prove: bool = True,
) -> Derivation:
    """See :func:`costlab.derivation.api.derive`."""
    tracer = SourceTracer(source, mode, dtype, options, fixed, backend=backend)
    with tracing(backend):
        found = classes_of(tracer, backend)
        record = record_of(source, found, mode, dtype, backend, fixed, options)
        if not prove:
            return record
        proof = _proof(tracer, found[0], record.gaps)
    derived = "proved" if proof.proved else record.derived
    classes = tuple(replace(c, domain=(*c.domain, *proof.within)) for c in record.classes)
    return replace(record, derived=derived, classes=classes, proof=proof.notes())


def _proof(tracer: SourceTracer, found: ClassFound, gaps: Sequence[str]) -> Proof:
    """The proof of the main class; formulas that leave an operator out are not proved."""
    if gaps:
        return Proof(False, _("no rule for {operators}").format(operators=", ".join(gaps)))
    return proof_of(tracer, found)


def classes_of(tracer: SourceTracer, backend: str) -> list[ClassFound]:
    """Derive every class of a source; call within :func:`tracing`."""
    source, fixed = tracer.source, tracer.fixed
    symbols = tuple(s for s in source.symbols if s not in fixed)
    models = size_models(symbols, source.constraints, tracer.mode)
    deep = {name: fixed[name] for name in source.loops if fixed.get(name, 0) >= AT_LEAST}
    varied: Tracer = tracer
    if not source.loops:
        cut = _cut(tracer, models[0])
        if cut.stack is not None:
            deep, varied = {LAYERS: cut.stack.count}, cut
    if deep:
        # Many passes of a known number: traced with a few, the number put in at the end.
        counted = [replace(m, symbols=(*m.symbols, *deep), numbers=deep) for m in models]
        try:
            return find_classes(varied, counted, rules_backend(backend), tuple(deep))
        except (ModuleError, DerivationError):
            pass  # the module counts its layers itself: trace them all
    return find_classes(tracer, models, rules_backend(backend), source.loops)


def _cut(tracer: SourceTracer, model: SizeModel) -> SourceTracer:
    """A tracer that cuts the module's largest stack of equal layers, if it has one worth it."""
    source = tracer.source
    sizes = {**model.sample(random.Random(0)), **tracer.fixed}
    given = {name: sizes[name] for name in source.symbols}
    module = source.program(built_mode(tracer.mode), given, tracer.options).module
    stacks = find_equal_layers(module) if module is not None else ()
    if module is None or not stacks:
        return tracer
    stack = max(stacks, key=lambda s: s.count)
    return replace(tracer, stack=stack, layer=layer_class(module, stack))


@contextmanager
def tracing(backend: str) -> Iterator[None]:
    """What every trace needs around it: one thread, fixed random numbers, a quiet collector."""
    with _deterministic(), quiet_collector(), backend_context(backend):
        yield


def rules_backend(backend: str) -> str:
    """Which backend's kernels the rules are asked about."""
    return "cuda" if backend == "cuda" else "cpu"


def record_of(
    source: Source,
    found: Sequence[ClassFound],
    mode: str,
    dtype: str,
    backend: str,
    fixed: Mapping[str, int],
    options: Mapping[str, bool],
) -> Derivation:
    """The derivation that classes make up."""
    classes = tuple(
        cost_class(item.derived, mode, item.derived.model.public, item.domain) for item in found
    )
    auxiliary = _auxiliary(source, fixed)
    symbols = tuple(s for s in source.symbols if s not in fixed)
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
        rerolled=tuple(dict.fromkeys(i.derived.trip for i in found if i.derived.trip)),
        gaps=tuple(sorted({gap for item in found for gap in item.derived.gaps})),
        claims=source.spec.claims if source.spec is not None else (),
        notes=source.notes,
        options=dict(options),
    )


def built_mode(mode: str) -> str:
    """The mode whose factory builds the program: an optimizer steps what was trained."""
    return "train" if is_optimizer(mode) else mode


@dataclass(frozen=True, slots=True)
class SourceTracer:
    """Builds a source at some sizes and traces one pass of it.

    ``fixed`` are sizes kept at a number; ``stack`` is a stack of equal layers to cut to the
    number of layers given as :data:`LAYERS`, ``layer`` their class where it is theirs alone.
    """

    source: Source
    mode: str
    dtype: str = "float32"
    options: Mapping[str, bool] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)
    stack: EqualLayers | None = None
    layer: type[torch.nn.Module] | None = None
    backend: str = "cpu"

    def __call__(self, sizes: Mapping[str, int]) -> Trace:
        full = {**self.fixed, **sizes}
        given = {name: full[name] for name in self.source.symbols}
        with first_layers_only(self.layer, full.get(LAYERS, 0)):
            raw = self.source.program(built_mode(self.mode), given, self.options)
        if self.stack is not None and raw.module is not None:
            keep_layers(raw.module, self.stack.path, full[LAYERS])
        program = prepare(raw, built_mode(self.mode), self.dtype)
        if is_optimizer(self.mode):
            program = optimizer_step(program, self.backend, self.mode)
        found = trace(program, self.mode, sizes, locate=self.source.file is not None)
        carry_masks(found.ops)
        settle(found)
        return found


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
    return {
        name: found.meaning if found else "a size of the module" for name, found in known.items()
    }
