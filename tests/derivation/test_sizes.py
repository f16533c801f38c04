"""Sizes drawn for a class lie in its domain, and internal variables are written as symbols."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from costlab.algebra import symbol
from costlab.derivation.classes import size_models
from costlab.derivation.sizes import FEW_LAYERS, SizeModel
from costlab.formulas.text import parse

HEADS = SizeModel(("b", "n", "d", "h"), (("h", "d"),))
EVEN = SizeModel(("n", "d", "h", "w"), (("h", "d"), ("w", "n")))
UNEVEN = SizeModel(("n", "w"), counted=(("w", "n"),), below=(("w", "n"),))
SINGLE = SizeModel(("b", "n", "d"), fixed={"b": 1})


@pytest.mark.parametrize("model", [HEADS, EVEN, UNEVEN, SINGLE])
def test_samples_are_in_the_domain(model: SizeModel, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        sizes = model.sample(rng)
        assert all(condition.holds(sizes) for condition in model.domain())
        assert set(model.symbols) | set(model.variables) <= set(sizes)
        assert all(value >= 1 for value in sizes.values())


def test_factors_and_quotients_make_the_whole(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        sizes = EVEN.sample(rng)
        assert sizes["h"] * sizes["k"] == sizes["d"]
        assert sizes["w"] * sizes["_n_per_w"] == sizes["n"]
        sizes = UNEVEN.sample(rng)
        assert (
            (sizes["_blocks_n_w"] - 1) * sizes["w"] < sizes["n"] < sizes["_blocks_n_w"] * sizes["w"]
        )


def test_formulas_are_written_in_the_users_symbols() -> None:
    h, k, n, w = (symbol(s) for s in ("h", "k", "n", "w"))
    assert HEADS.public(4 * n * h * k + h**2 * k**2) == parse("4*n*d + d**2")
    assert EVEN.public(w * symbol("_n_per_w") * h * k) == parse("n*d")
    assert EVEN.public(symbol("_n_per_w") * 3) == parse("3*n/w")
    assert UNEVEN.public(w * symbol("_blocks_n_w")) == parse("w*ceiling(n/w)")
    assert HEADS.public(n * n) == n**2


def test_a_size_can_be_set_where_the_class_has_such_sizes(seed: int) -> None:
    rng = random.Random(seed)
    found = HEADS.sample_with(rng, {"n": 1})
    assert found is not None
    assert found["n"] == 1
    assert HEADS.sample_with(rng, {"d": 1}) is None
    found = HEADS.sample_with(rng, {"k": 1})
    assert found is not None
    assert found["d"] == found["h"]
    assert UNEVEN.sample_with(rng, {"w": 1}) is None  # 1 divides everything


@pytest.mark.parametrize(
    ("symbols", "constraints", "domains"),
    [
        (("b", "n", "d"), (), [[]]),
        (("b", "n", "d", "h"), (), [["h divides d"]]),
        (("n", "h", "g", "d"), ("h divides d",), [["h divides d", "g divides h"]]),
        (("n", "d", "w"), ("w <= n",), [["w divides n"], ["w does not divide n", "w <= n"]]),
        (("n", "d", "c"), ("c divides n",), [["c divides n"]]),
        (("h", "k", "n"), (), [[]]),
    ],
)
def test_models_of_a_source(
    symbols: tuple[str, ...], constraints: tuple[str, ...], domains: list[list[str]]
) -> None:
    models = size_models(symbols, constraints, "forward")
    assert [[str(c) for c in m.domain()] for m in models] == domains


def test_several_variables_set_at_once() -> None:
    found = HEADS.sample_with(random.Random(1), {"n": 1, "k": 1, "h": 3})

    assert found is not None
    assert [found[name] for name in ("n", "k", "h", "d")] == [1, 1, 3, 3]


def test_a_narrower_model_names_what_a_quotient_has_become() -> None:
    narrower = replace(HEADS, fixed={"h": 1}, divides=())

    assert narrower.narrowing(HEADS) == {"h": 1, "k": symbol("d")}


def test_layers_of_a_known_number_are_few() -> None:
    model = SizeModel(("n", "_layers"), numbers={"_layers": 96})
    rng = random.Random(2)

    assert {model.sample(rng)["_layers"] for _ in range(40)} == set(FEW_LAYERS)
