"""Torch's sympy trees against the expressions read from them, at random sizes."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sympy
from torch.utils._sympy.functions import (
    CeilDiv,
    CeilToInt,
    CleanDiv,
    FloorDiv,
    FloorToInt,
    IntTrueDiv,
    Max,
    Min,
    Mod,
    PowByNatural,
    PythonMod,
)

from costlab.algebra import symbol
from costlab.derivation.relations import Relation, SizeReader
from costlab.errors import AlgebraError

B, C, N, W = (sympy.Symbol(f"s{i}", integer=True, positive=True) for i in (65, 58, 69, 94))
NAMES = {B: "b", C: "c", N: "n", W: "w"}
READER = SizeReader(NAMES, {"b": 2, "c": 2, "n": 2, "w": 2}, [("w", "n")])


def sizes(seed: int) -> dict[Any, int]:
    rng = random.Random(seed)
    w = rng.randrange(2, 30)
    return {B: rng.randrange(2, 30), C: rng.randrange(2, 30), N: w + rng.randrange(40), W: w}


TREES = {
    "polynomial": 3 * B * N**2 - B + 7,
    "power": PowByNatural(N, 3) + B,
    "product over factor": FloorDiv(B * N, B),
    "carry": FloorDiv(C * N + C - 1, C),
    "borrow": FloorDiv(C * N - 1, C),
    "rest below": FloorDiv(B * C + 1, C),
    "kept floor": FloorDiv(N + 3, C),
    "polynomial over polynomial": CleanDiv(C * W + 2 * W, C + 2),
    "ceiling": CeilDiv(N, C),
    "ceiling of a product": CeilDiv(B * C, C),
    "mod": Mod(N, C),
    "mod of a product": PythonMod(B * C + 1, C),
    "ordered": Min(N, W) + Max(N, W, 1),
    "not ordered": Max(B * C, N) - Min(B, C),
    "rounded": FloorToInt(N / sympy.Integer(2)) + CeilToInt(N / sympy.Integer(2)),
}


@pytest.mark.parametrize("name", TREES)
def test_an_expression_has_the_values_of_its_tree(name: str, seed: int) -> None:
    expr = READER.expression(TREES[name])

    for number in range(50):
        values = sizes(seed + number)
        named = {NAMES[s]: v for s, v in values.items()}
        assert expr.evaluate(named) == int(sympy.sympify(TREES[name]).xreplace(values)), named


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("carry", symbol("n")),
        ("borrow", symbol("n") - 1),
        ("rest below", symbol("b")),
        ("mod of a product", 1),
        ("polynomial over polynomial", symbol("w")),
        ("ordered", symbol("w") + symbol("n")),
    ],
)
def test_what_the_bounds_decide_is_decided(name: str, expected: object) -> None:
    assert READER.expression(TREES[name]) == expected


@pytest.mark.parametrize(
    "tree", [IntTrueDiv(N, C), PowByNatural(2, N), sympy.Symbol("u0", integer=True)], ids=str
)
def test_what_no_dimension_is_raises(tree: Any) -> None:
    with pytest.raises(AlgebraError):
        READER.expression(tree)


CONDITIONS = {
    sympy.Ne(B, 1): True,
    sympy.Ne(B, 2): False,
    B * N > 3: True,
    B * N > 4: False,
    N >= W: True,
    N > W: False,
    sympy.Lt(B * C, B * C * N): True,
    sympy.Le(C * N, N): False,
    sympy.Eq(FloorDiv(C * N + C - 1, C), N): True,
    sympy.Eq(Mod(N, C), 0): False,
    sympy.And(N >= W, B >= 2): True,
    sympy.And(N >= W, B >= 3): False,
    sympy.Or(B >= 3, N >= 2): True,
    sympy.Ne(B * N, B * C): False,
    sympy.Ne(C * N + 1, C * N): True,
    IntTrueDiv(N, C) > 0: False,
}


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_a_condition_is_sure_only_where_it_follows(condition: Any, seed: int) -> None:
    sure = READER.is_sure(condition)

    assert sure == CONDITIONS[condition]
    if sure:
        assert all(bool(condition.xreplace(sizes(seed + i))) for i in range(50))


def test_relations_are_read_with_both_sides() -> None:
    n, b = symbol("n"), symbol("b")

    assert READER.relation(sympy.Gt(N, 20)) == Relation(n, ">", n - n + 20)
    assert READER.relation(sympy.Ne(N * B, B)) == Relation(n * b, "!=", b)
    assert READER.relation(N * B) is None


def test_names_replace_torchs() -> None:
    assert READER.named("Eq(Mod(s69, 2), 0) and s7") == "Eq(Mod(n, 2), 0) and s7"
    assert READER.named("PowByNatural(2, s65)") == "2**b"
