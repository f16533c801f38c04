"""Dense linear algebra against textbook algorithms whose operations are counted as they run."""

from __future__ import annotations

import math

import pytest
import torch

from costlab.algebra import as_expr, symbol
from costlab.rules.linalg import cholesky_flop, inverse_from_lu_flop, lu_flop, qr_flop
from tests.rules.counting import Counter, Number, sqrt
from tests.rules.recorder import only

Matrix = list[list[Number]]


def _matrix(values: torch.Tensor, counter: Counter) -> Matrix:
    return [counter.numbers(row) for row in values.tolist()]


def _values(matrix: Matrix) -> torch.Tensor:
    return torch.tensor([[x.value for x in row] for row in matrix])


def _positive(n: int) -> torch.Tensor:
    a = torch.rand(n, n, generator=torch.Generator().manual_seed(n))
    return a @ a.mT + n * torch.eye(n)


def _cholesky(a: Matrix) -> Matrix:
    """Column by column: root, divisions, update of what is left."""
    n = len(a)
    for j in range(n):
        a[j][j] = sqrt(a[j][j])
        for i in range(j + 1, n):
            a[i][j] = a[i][j] / a[j][j]
        for k in range(j + 1, n):
            for i in range(k, n):
                a[i][k] = a[i][k] - a[i][j] * a[k][j]
    return a


def _lu(a: Matrix) -> Matrix:
    """Elimination without exchanges, which are no arithmetic."""
    n = len(a)
    for j in range(n):
        for i in range(j + 1, n):
            a[i][j] = a[i][j] / a[j][j]
            for k in range(j + 1, n):
                a[i][k] = a[i][k] - a[i][j] * a[j][k]
    return a


def _substitute(lower: Matrix, column: list[Number]) -> list[Number]:
    """Forward substitution with divisions by the diagonal."""
    for i in range(len(column)):
        for j in range(i):
            column[i] = column[i] - lower[i][j] * column[j]
        column[i] = column[i] / lower[i][i]
    return column


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_cholesky(n: int) -> None:
    values, counter = _positive(n), Counter()
    factor = _cholesky(_matrix(values, counter))
    torch.testing.assert_close(_values(factor).tril(), torch.linalg.cholesky(values))
    assert cholesky_flop(n) == counter.operations
    _, cost = only(
        lambda: torch.linalg.cholesky_ex(values.expand(3, n, n)), "aten.linalg_cholesky_ex"
    )
    assert cost.flop_matmul == 3 * counter.operations


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_lu(n: int) -> None:
    values, counter = _positive(n), Counter()
    factors = _values(_lu(_matrix(values, counter)))
    torch.testing.assert_close((factors.tril(-1) + torch.eye(n)) @ factors.triu(), values)
    assert lu_flop(n) == counter.operations


@pytest.mark.parametrize("n", [1, 3, 7])
def test_triangular_solve(n: int) -> None:
    lower, right, counter = _positive(n).tril(), torch.rand(n, 4), Counter()
    matrix = _matrix(lower, counter)
    columns = [_substitute(matrix, counter.numbers(c)) for c in right.t().tolist()]
    found, cost = only(
        lambda: torch.linalg.solve_triangular(lower, right, upper=False),
        "aten.linalg_solve_triangular",
    )
    torch.testing.assert_close(_values(columns).t(), found.outputs[0], rtol=1e-4, atol=1e-5)
    assert cost.flop_matmul == counter.operations


def test_broadcast_triangle_is_solved_and_copied_per_batch() -> None:
    lower, right = _positive(5).tril(), torch.rand(3, 5, 4)
    _, cost = only(
        lambda: torch.linalg.solve_triangular(lower, right, upper=False),
        "aten.linalg_solve_triangular",
    )
    assert cost.flop_matmul == 3 * 25 * 4
    assert cost.scratch_bytes == 3 * 25 * 4


def test_solve_is_factor_and_two_substitutions() -> None:
    a, b = _positive(5), torch.rand(5, 4)
    _, cost = only(lambda: torch.linalg.solve(a, b), "aten._linalg_solve_ex")
    counter = Counter()
    _lu(_matrix(a, counter))
    lower, columns = _matrix(a.tril(), counter), [counter.numbers([1.0] * 5) for _ in range(4)]
    for column in columns:
        _substitute(lower, column)
        _substitute(lower, column)
    divisions_by_one = 4 * 5
    assert cost.flop_matmul == counter.operations - divisions_by_one


def test_inverse_and_orthogonal_factor_have_the_known_leading_terms() -> None:
    """Golub and Van Loan: 2 n**3 for an inverse by elimination, 4/3 n**3 for Householder QR."""
    n = symbol("n")
    inverse = as_expr(lu_flop(n)) + inverse_from_lu_flop(n)
    at = {"n": 10**6}
    assert math.isclose(inverse.evaluate(at) / 1e18, 2, rel_tol=1e-5)
    assert math.isclose(as_expr(qr_flop(n)).evaluate(at) / 1e18, 4 / 3, rel_tol=1e-5)
    a = _positive(6)
    _, cost = only(lambda: torch.linalg.inv(a), "aten.linalg_inv_ex")
    assert cost.flop_matmul == inverse.evaluate({"n": 6})


def test_square_of_a_tall_matrix_costs_less_than_a_square_one() -> None:
    tall = torch.rand(9, 4)
    _, cost = only(lambda: torch.linalg.qr(tall), "aten.linalg_qr")
    small, large = (int(as_expr(qr_flop(n)).evaluate({})) for n in (4, 9))
    assert 2 * small < as_expr(cost.flop_matmul).evaluate({}) < 2 * large
