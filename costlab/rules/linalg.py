"""Triangular solves, factorisations, inverses: the multiplications and additions of LAPACK.

Counts are those of LAPACK Working Note 41, one per scalar operation, for square matrices of
size n in a batch. They are ``flop_matmul`` (dense arithmetic that runs on matrix products);
torch's FlopCounterMode has no formula for them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from costlab.algebra import Size, as_expr, product, simplest
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, rule, written_bytes
from costlab.rules.promotion import number_bytes


def _polynomial(n: Size, *coefficients: Fraction | int) -> Size:
    """Value at ``n`` with the highest power first, exact."""
    value = as_expr(0)
    for coefficient in coefficients:
        value = value * n + coefficient
    return simplest(value)


def cholesky_flop(n: Size) -> Size:
    """Operations of POTRF on an n by n matrix."""
    return _polynomial(n, Fraction(1, 3), Fraction(1, 2), Fraction(1, 6), 0)


def lu_flop(n: Size) -> Size:
    """Operations of GETRF on an n by n matrix."""
    return _polynomial(n, Fraction(2, 3), Fraction(-1, 2), Fraction(-1, 6), 0)


def inverse_from_lu_flop(n: Size) -> Size:
    """Operations of GETRI on an n by n matrix."""
    return _polynomial(n, Fraction(4, 3), -1, Fraction(5, 3), 0)


def qr_flop(n: Size) -> Size:
    """Operations of GEQRF on an n by n matrix."""
    return _polynomial(n, Fraction(4, 3), 2, Fraction(14, 3), 0)


def triangular_flop(n: Size, columns: Size) -> Size:
    """Operations of TRSM: ``columns`` right-hand sides against an n by n triangle."""
    return n * n * columns


PIVOT_BYTES = 4


def _pivot_check(call: Call, pivots: Size) -> Size:
    """Scratch of the comparison of every pivot with a number, on a CPU."""
    return pivots + number_bytes(0, "int32") if call.backend == "cpu" else 0


def _batch(matrix: TensorSpec) -> Size:
    return product(matrix.shape[:-2])


def _dense(call: Call, flop: Size, *read: str) -> Cost:
    return Cost(
        "matmul",
        flop_matmul=flop,
        bytes_read=bytes_of(call, *read),
        bytes_written=written_bytes(call),
    )


@rule("aten._linalg_check_errors")
def _check_errors(call: Call) -> Cost:
    """Status of every matrix compared with zero, and whether any differs."""
    info = call.tensor("info")
    return Cost(
        "reduction",
        flop_other=2 * info.numel,
        bytes_read=info.nbytes,
        scratch_bytes=info.numel + 1,
    )


@rule("aten.linalg_solve_triangular")
def _solve_triangular(call: Call) -> Cost:
    """``self`` X = B, or X ``self`` = B where ``left`` is False; broadcast to the result."""
    out, matrix = call.outs[0], call.tensor("self")
    size = matrix.shape[-1]
    cost = _dense(call, out.numel * size, "self", "B")
    if matrix.shape[:-2] == out.shape[:-2]:
        return cost
    return replace(cost, scratch_bytes=_batch(out) * size * size * out.itemsize)


@rule("aten.triangular_solve")
def _triangular_solve(call: Call) -> Cost:
    out = call.outs[0]
    return _dense(call, out.numel * call.tensor("A").shape[-1], "self", "A")


@rule("aten.linalg_cholesky_ex", "aten.linalg_cholesky", "aten.cholesky")
def _cholesky(call: Call) -> Cost:
    matrix = call.tensor("self")
    return _dense(call, _batch(matrix) * cholesky_flop(matrix.shape[-1]), "self")


@rule("aten.cholesky_solve")
def _cholesky_solve(call: Call) -> Cost:
    out = call.outs[0]
    return _dense(call, 2 * out.numel * call.tensor("input2").shape[-1], "self", "input2")


@rule("aten.linalg_lu_factor_ex", "aten.linalg_lu_factor", "aten._linalg_det",
      "aten._linalg_slogdet")  # fmt: skip
def _lu(call: Call) -> Cost:
    matrix = call.tensor("A")
    return _dense(call, _batch(matrix) * lu_flop(matrix.shape[-1]), "A")


@rule("aten.linalg_lu_solve")
def _lu_solve(call: Call) -> Cost:
    """GETRS: two triangular solves, one with a unit diagonal (no divisions)."""
    out, size = call.outs[0], call.tensor("LU").shape[-1]
    cost = _dense(call, out.numel * (2 * size - 1), "LU", "pivots", "B")
    return replace(cost, scratch_bytes=_pivot_check(call, call.tensor("pivots").numel))


@rule("aten._linalg_solve_ex", "aten.linalg_solve_ex", "aten.linalg_solve")
def _solve(call: Call) -> Cost:
    matrix, out = call.tensor("A"), call.outs[0]
    size = matrix.shape[-1]
    factor = _batch(matrix) * lu_flop(size)
    cost = _dense(call, factor + out.numel * (2 * size - 1), "A", "B")
    return replace(cost, scratch_bytes=_pivot_check(call, _batch(matrix) * size))


@rule("aten.linalg_inv_ex", "aten.linalg_inv", "aten.inverse")
def _inverse(call: Call) -> Cost:
    """By the factors, which are scratch with their pivots."""
    matrix = call.tensor("A") if call.has("A") else call.tensor("self")
    size = matrix.shape[-1]
    each = lu_flop(size) + inverse_from_lu_flop(size)
    pivots = _batch(matrix) * size
    scratch = matrix.nbytes + pivots * PIVOT_BYTES + _pivot_check(call, pivots)
    return replace(_dense(call, _batch(matrix) * each, "A", "self"), scratch_bytes=scratch)


@rule("aten.linalg_qr")
def _qr(call: Call) -> Cost:
    """Factor and form Q: that of the square part, and ``4 n**2`` per row more."""
    matrix = call.tensor("A")
    height, width = matrix.shape[-2:]
    each = 2 * qr_flop(width) + 4 * width * width * (height - width)
    return _dense(call, _batch(matrix) * each, "A")
