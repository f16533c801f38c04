"""Classes: at sizes of 1 against real runs there, and a narrower one as when derived alone."""

from __future__ import annotations

import itertools
from functools import partial

import pytest

import costlab
from costlab.derivation import classes
from costlab.derivation.engine import Derived, Tracer
from costlab.derivation.sizes import SizeModel
from costlab.sources.resolve import resolve
from tests.derivation.programs import counts, derived, formulas_at, run_of


@pytest.mark.parametrize(
    ("name", "options"),
    [("full_attention", ()), ("full_attention", ("causal",)), ("flash_attention", ())],
)
def test_every_combination_of_sizes_of_one_has_formulas(
    name: str, options: tuple[str, ...]
) -> None:
    found = derived(f"arch {name}", "forward", *options)
    make = partial(resolve(name).factory("forward"), **dict.fromkeys(options, True))
    for b, n, h in itertools.product((1, 3), (1, 7), (1, 2)):
        sizes = {"b": b, "n": n, "d": 12, "h": h}
        if "w" in found.sizes:
            sizes["w"] = min(n, 3)
        assert formulas_at(found, sizes) == counts(run_of(make, "forward", sizes)), sizes


def test_a_loop_has_formulas_for_its_fewest_passes() -> None:
    found = derived("arch gru", "forward")
    for b, n in itertools.product((1, 3), (1, 2, 3)):
        sizes = {"b": b, "n": n, "d": 5}
        run = run_of(resolve("gru").factory("forward"), "forward", sizes)
        assert formulas_at(found, sizes) == counts(run), sizes


@pytest.mark.parametrize("name", ["full_attention", "sliding_window"])
def test_a_narrower_class_is_what_it_is_when_derived_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Derived] = []

    def alone(tracer: Tracer, model: SizeModel, backend: str, like: Derived) -> None:
        taken.append(like)

    helped = costlab.derive(name, prove=False)
    monkeypatch.setattr(classes, "derive_narrowed", alone)

    assert costlab.derive(name, prove=False) == helped
    assert taken


@pytest.mark.parametrize("sizes", [(6, 36), (5, 58), (1, 77)], ids=str)
def test_blocks_rounded_to_pages_grow_with_one_step_too(sizes: tuple[int, int]) -> None:
    """All the small sizes of a derivation have a workspace of a page; larger ones have not."""
    found = derived("arch lstm", "train")
    point = {"b": sizes[0], "n": 1, "d": sizes[1]}
    run = run_of(resolve("lstm").factory("train"), "train", point)
    assert formulas_at(found, point) == counts(run)
