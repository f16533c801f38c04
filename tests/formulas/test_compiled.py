"""Compiled formulas against exact evaluation, point by point."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlab.algebra import Expr, as_expr, maximum, symbol
from costlab.errors import AlgebraError
from costlab.formulas import compiled
from costlab.formulas.compiled import compile_expr
from costlab.formulas.tape import record
from costlab.formulas.text import parse
from tests.formulas.expressions import NAMES, expressions

b, n, d, w = (symbol(name) for name in "bndw")


@settings(max_examples=50)
@given(expressions(), st.sets(st.sampled_from(NAMES)), st.integers(0, 2**32 - 1))
def test_arrays_agree_with_exact_values(expr: Expr, varying: set[str], seed: int) -> None:
    """Whichever names vary: others are folded into coefficients and must give the same."""
    draw = np.random.default_rng(seed)
    columns = {
        name: draw.integers(1, 40, 7) if name in varying else int(draw.integers(1, 40))
        for name in NAMES
    }
    found = compile_expr(expr, NAMES)(*columns.values())
    values = np.broadcast_to(np.asarray(found, dtype=float), (7,))

    for i in range(7):
        at = {name: int(np.broadcast_to(column, (7,))[i]) for name, column in columns.items()}
        assert values[i] == pytest.approx(float(expr.evaluate(at)), rel=1e-9, abs=1e-6)


def test_python_integers_stay_exact() -> None:
    """96 layers, a million tokens: int64 wraps, float64 rounds, this does neither."""
    flop = parse("L*(24*b*n*d**2 + 4*b*n**2*d) + 1")
    sizes = {"L": 96, "b": 64, "n": 1_000_000, "d": 8192}
    exact = compile_expr(flop, list(sizes))(*sizes.values())
    rounded = compile_expr(flop, list(sizes))(96, 64, np.array([1_000_000]), 8192)

    assert exact == 96 * (24 * 64 * 10**6 * 8192**2 + 4 * 64 * 10**12 * 8192) + 1
    assert isinstance(exact, int)
    assert rounded == pytest.approx([float(exact)], rel=1e-15)


def test_shapes_broadcast() -> None:
    cost = compile_expr(8 * n * d**2 + 4 * n**2 * d, ["n", "d"])
    grid = cost(np.arange(1, 6)[:, None], np.arange(1, 4)[None, :])

    assert isinstance(grid, np.ndarray)
    assert grid.shape == (5, 3)
    assert grid[4, 2] == 8 * 5 * 9 + 4 * 25 * 3
    assert np.asarray(cost(np.array([]), 3)).shape == (0,)
    assert np.asarray(cost(np.int64(5), 3)).shape == ()


@pytest.mark.parametrize("block", [3, 7, 49, 10, np.arange(1, 60)[:, None]], ids=str)
def test_block_counts_are_exact_where_blocks_fit(block: int | np.ndarray) -> None:
    """A rounded quotient must not open one block more: ceiling(n/w) is by one division."""
    counts = compile_expr(
        {"up": parse("ceiling(n/w)"), "down": parse("floor((n + w - 1)/w)")}, ["n", "w"]
    )(np.arange(1, 5000), block)
    expected = -(-np.arange(1, 5000) // block)

    assert np.array_equal(np.asarray(counts["up"]), expected)
    assert np.array_equal(np.asarray(counts["down"]), expected)


def test_more_points_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "CHUNK", 64)
    lengths = np.arange(1, 1000)
    values = compile_expr(maximum(n * d, n**2 - 7), ["n", "d"])(lengths, 30)

    assert np.array_equal(np.asarray(values), np.maximum(lengths * 30, lengths**2 - 7))


def test_a_formula_without_the_varying_size_is_constant() -> None:
    assert list(np.asarray(compile_expr(d**2, ["n", "d"])(np.arange(3), 5))) == [25, 25, 25]
    assert list(np.asarray(compile_expr(7, ["n"])(np.arange(3)))) == [7, 7, 7]


def test_what_formulas_share_is_computed_once() -> None:
    exprs = [as_expr(maximum(n * d, w)), 3 * n * d + as_expr(maximum(n * d, w)), n * d * w]
    apart = sum(len(record([expr], {"n", "d", "w"}).steps) for expr in exprs)
    together = record(exprs, {"n", "d", "w"})

    assert len(together.steps) < apart
    assert len(together.steps) == 3


def test_errors_name_the_sizes() -> None:
    with pytest.raises(AlgebraError, match="w"):
        compile_expr(n * w, ["n"])
    with pytest.raises(AlgebraError, match="1"):
        compile_expr(n * d, ["n", "d"])(3)


def test_compiling_needs_neither_sympy_nor_torch() -> None:
    code = (
        "import sys; from costlab.formulas.compiled import compile_expr; "
        "from costlab.formulas.text import parse; "
        "compile_expr(parse('Max(n, 2)'), ['n'])([1, 2]); "
        "print({'sympy', 'torch'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "set()"
