"""Sums of rules over real runs of everyday modules, against counts worked out by hand."""

from __future__ import annotations

import inspect

import pytest

from costlab.algebra import total
from costlab.derivation.totals import depth, price
from costlab.formulas.text import parse
from costlab.graph import Call, TensorSpec
from costlab.sources.program import prepare, program_from
from costlab.trace.records import OpRecord
from tests.derivation.programs import FACTORIES, priced, run_of, traced
from tests.reference.modules13 import TRUTH, USEFUL, train_truth

SIZES = [
    {"b": 2, "n": 7, "d": 12, "h": 2, "s": 3},
    {"b": 3, "n": 10, "d": 20, "h": 4, "s": 5},
]


def given(name: str, sizes: dict[str, int]) -> dict[str, int]:
    """The sizes that a factory takes."""
    return {key: sizes[key] for key in inspect.signature(FACTORIES[name]).parameters}


@pytest.mark.parametrize("grad", [False, True], ids=["no grad", "grad"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", TRUTH)
def test_forward_flop(name: str, training: bool, grad: bool) -> None:
    """Whatever kernel the setting selects, fused encoder paths included, the count is the same."""
    for sizes in SIZES:
        made = prepare(
            program_from(FACTORIES[name](**given(name, sizes)), "train"),
            "train" if grad else "forward",
        )
        assert made.module is not None
        made.module.train(training)
        found = traced(made, "train" if grad else "forward")
        costs = priced(found.ops[: found.forward_ops])
        assert all(p.cost is not None for p in costs)
        assert total(p.quantity("flop_matmul") for p in costs) == parse(TRUTH[name]).evaluate(sizes)
        useful = USEFUL.get(name, TRUTH[name])
        assert total(p.quantity("flop_useful") for p in costs) == parse(useful).evaluate(sizes)


@pytest.mark.parametrize("name", TRUTH)
def test_train_flop(name: str) -> None:
    for sizes in SIZES:
        costs = priced(run_of(FACTORIES[name], "train", given(name, sizes)).ops)
        assert all(p.cost is not None for p in costs)
        counted = total(p.quantity("flop_matmul") for p in costs)
        assert counted == parse(train_truth(name)).evaluate(sizes)


def test_causal_train_flop_are_useful_by_pairs() -> None:
    for sizes in SIZES:
        run = run_of(FACTORIES["attention_causal"], "train", given("attention_causal", sizes))
        costs = priced(run.ops)
        useful = total(p.quantity("flop_useful") for p in costs)
        assert useful == parse("24*b*n*d**2 + 7*b*n*(n + 1)*d").evaluate(sizes)


def test_a_call_without_a_rule_has_no_cost() -> None:
    found = price(Call("nobody.knows.default", {}, ()))
    assert found.cost is None
    assert [found.quantity(name) for name in ("flop", "bytes", "launches")] == [0, 0, 0]


def test_kept_pairs_scale_the_product() -> None:
    a, b, out = (TensorSpec((5, 7), (7, 1), "float32"), TensorSpec((7, 3), (3, 1), "float32"),
                 TensorSpec((5, 3), (3, 1), "float32"))  # fmt: skip
    call = Call("aten.mm.default", {"self": a, "mat2": b}, (out,), kept=9)
    assert price(call, pairs_at=-1).quantity("flop_useful") == 2 * 9 * 7
    assert price(call, pairs_at=0).quantity("flop_useful") == 2 * 9 * 3
    assert price(call).quantity("flop_useful") == 2 * 5 * 7 * 3


def record(reads: tuple[int, ...], writes: tuple[int, ...]) -> OpRecord:
    return OpRecord("aten.exp.default", {}, (), "", "forward", reads, writes, ())


def test_depth_is_the_longest_chain() -> None:
    diamond = [record((0,), (1,)), record((1,), (2,)), record((1,), (3,)), record((2, 3), (4,))]
    assert depth(diamond, [1, 1, 1, 1]) == 3
    assert depth(diamond, [1, 5, 2, 1]) == 7
    assert depth([record((0,), (1,)), record((2,), (3,))], [4, 2]) == 4
    assert depth([], []) == 0


def test_depth_follows_writes_in_place() -> None:
    assert depth([record((0,), (1,)), record((1,), (1,)), record((1,), (2,))], [1, 1, 1]) == 3
