"""Classes of a program at sizes of 1, against real runs there."""

from __future__ import annotations

import itertools
from functools import partial

import pytest

from costlab.sources.resolve import resolve
from tests.derivation.programs import counts, derived, formulas_at, run_of


@pytest.mark.parametrize(
    ("name", "options"),
    [("full_attention", ()), ("full_attention", ("causal",)), ("sliding_window", ())],
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
