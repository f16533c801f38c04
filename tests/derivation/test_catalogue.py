"""The committed formulas of every entry against one real run, and the papers' orders."""

from __future__ import annotations

import random

import pytest

from costlab.algebra import total
from costlab.arch import registry
from costlab.derivation.classes import size_models
from costlab.derivation.engine import Run, as_number, live_peak
from costlab.derivation.regenerate import BACKENDS, Choice, choices
from costlab.derivation.totals import COUNTED
from costlab.derivation.work import SourceTracer, tracing
from costlab.formulas import store
from costlab.formulas.document import claim_document
from costlab.formulas.record import Derivation
from costlab.sources.resolve import resolve


@pytest.mark.parametrize("name", registry.names())
def test_a_real_run_at_sizes_drawn_now_counts_what_the_formulas_give(name: str, seed: int) -> None:
    """One mode, dtype and backend of each entry per run; ``make verify`` tries all at 20 sizes."""
    rng = random.Random(f"{seed} {name}")
    choice = rng.choice(list(choices([name])))
    derivation, (run, sizes) = _load(choice), _traced(choice, rng)
    found = derivation.select(sizes)
    for quantity in COUNTED:
        formula = found.cost[quantity].expr
        if formula is not None:
            count = as_number(total(p.quantity(quantity) for p in run.priced), sizes)
            assert formula.evaluate(sizes) == pytest.approx(count, rel=1e-9, abs=0), (choice, sizes)
    peak = found.cost["peak_bytes"].expr
    assert peak is not None
    assert peak.evaluate(sizes) == live_peak(run), (choice, sizes)


def _load(choice: Choice) -> Derivation:
    flags = {name: value for name, value in choice.options.items() if value}
    return store.load(choice.architecture, choice.mode, choice.dtype, choice.backend, flags)


def _traced(choice: Choice, rng: random.Random) -> tuple[Run, dict[str, int]]:
    """A run at random sizes of one of the classes, and the sizes with all that follows of them."""
    derivation, source = _load(choice), resolve(choice.architecture)
    models = size_models(source.symbols, source.constraints, choice.mode)
    while True:
        drawn = rng.choice(models).sample(rng, far=True)
        sizes = {**derivation.complete({s: drawn[s] for s in source.symbols}), "threads": 1}
        if any(item.holds(sizes) for item in derivation.classes):
            break
    tracer = SourceTracer(source, choice.mode, choice.dtype, choice.options, backend=choice.backend)
    with tracing(choice.backend):
        return Run.of(tracer(drawn), "cuda" if choice.backend == "cuda" else "cpu"), sizes


@pytest.mark.parametrize("name", registry.names())
def test_nothing_is_left_out_and_orders_are_the_papers_or_explained(name: str) -> None:
    for mode in registry.spec(name).modes:
        for backend in BACKENDS:
            derivation = store.load(name, mode, "float32", backend)
            assert derivation.gaps == ()
            assert derivation.claims == registry.spec(name).claims
            if backend == "cpu":
                verdicts = [(claim_document(derivation, c), c.differs) for c in derivation.claims]
                for found, differs in verdicts:
                    assert found["agrees"] in (None, not differs), found


@pytest.mark.parametrize("name", ["longformer", "attention_sinks"])
@pytest.mark.parametrize("mode", ["forward", "train"])
def test_where_every_token_is_global_it_is_the_same_program(name: str, mode: str) -> None:
    """An index that takes all rows is none at all, and what is contiguous is not laid out anew."""
    derivation, source = store.load(name, mode, "float32", "cpu"), resolve(name)
    drawn = {"b": 2, "n": 6, "d": 6, "h": 3, "w": 2, "G": 6}
    sizes = {**derivation.complete(drawn), "threads": 1}
    tracer = SourceTracer(source, mode)
    with tracing("cpu"):
        run = Run.of(tracer(drawn), "cpu")
    cost = derivation.select(sizes).cost
    for quantity in ("bytes", "launches"):
        formula = cost[quantity].expr
        assert formula is not None
        assert formula.evaluate(sizes) == as_number(
            total(p.quantity(quantity) for p in run.priced), sizes
        )
