"""Fourier transforms: operations against a count of butterflies, scratch by profiler."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import fft

from costlab.algebra import as_expr, symbol
from costlab.errors import DerivationError
from costlab.graph import Call, TensorSpec
from costlab.rules.base import find_rule
from costlab.rules.fourier import transform_flop
from tests.rules.allocations import Run, bytes_with, measure
from tests.rules.recorder import cost_of, record


def butterflies(n: int) -> int:
    """Complex radix-2 transform by recursion: n/2 butterflies of 10 real operations per level."""
    return 0 if n == 1 else 2 * butterflies(n // 2) + n // 2 * 10


@pytest.mark.parametrize("n", [2, 8, 64, 1024])
def test_complex_transform_of_a_power_of_two_is_its_butterflies(n: int) -> None:
    assert transform_flop(3 * n, n, real=False) == 3 * butterflies(n)
    assert transform_flop(3 * n, n, real=True) * 2 == 3 * butterflies(n)


def test_other_sizes_keep_the_logarithm() -> None:
    value = as_expr(transform_flop(7 * 100, 100, real=False)).evaluate({})
    assert value == pytest.approx(5 * 700 * math.log2(100))


@pytest.mark.parametrize(
    ("run", "points", "signal", "per_value"),
    [
        (lambda x: fft.rfft(x), 4 * 6 * 16, 16, 2.5),
        (lambda x: fft.irfft(x, n=16), 4 * 6 * 16, 16, 2.5),
        (lambda x: fft.fft(x.to(torch.complex64)), 4 * 6 * 16, 16, 5),
        (lambda x: fft.rfft2(x), 4 * 6 * 16, 6 * 16, 2.5),
        (lambda x: fft.irfft2(x.to(torch.complex64), s=(6, 16)), 4 * 6 * 16, 6 * 16, 2.5),
        (lambda x: fft.rfft(x, dim=1), 4 * 6 * 16, 6, 2.5),
    ],
)
def test_values_and_transformed_sizes(
    run: Callable[[torch.Tensor], object], points: int, signal: int, per_value: float
) -> None:
    costs = [cost_of(r.call) for r in record(lambda: run(torch.randn(4, 6, 16)))]
    (cost,) = [c for c in costs if c.kind == "fft"]
    flop = as_expr(cost.flop_other).evaluate({})
    assert float(flop) == pytest.approx(per_value * points * math.log2(signal))


def _runs() -> list[Run]:
    aten = torch.ops.aten
    x = torch.randn(4, 8, 6, 10)
    z = x.to(torch.complex64)
    runs = []
    for tensor in (x, x.transpose(1, 3), x.transpose(0, 1), x[:, ::2], torch.randn(3, 64, 5)):
        last = tensor.dim() - 1
        for dims in ([last], [1], [1, last], [0, 1]):
            spectrum = aten._fft_r2c(tensor, dims, 0, True)
            size = tensor.shape[dims[-1]]
            runs.append(Run(aten._fft_r2c.default, (tensor, dims, 0, True)))
            runs.append(Run(aten._fft_c2r.default, (spectrum, dims, 2, size)))
    for tensor in (z, z.transpose(1, 2), z.contiguous(memory_format=torch.channels_last)):
        for dims in ([3], [2], [0, 2], [1, 2, 3]):
            runs.append(Run(aten._fft_c2c.default, (tensor, dims, 0, False)))
    return runs


def test_scratch_is_what_the_allocator_sees() -> None:
    copied = 0
    for measured in measure(_runs()):
        expected = bytes_with(cost_of(measured.call).scratch_bytes, 1)
        assert measured.scratch_bytes == expected, measured.call
        copied += expected > 0
    assert copied > 10


def test_symbolic_transform_equals_numeric_one() -> None:
    rule = find_rule("aten._fft_c2c.default")
    assert rule is not None
    b, n, d = symbol("b"), symbol("n"), symbol("d")
    out = TensorSpec((b, n, d), (n * d, 1, n), "complex64")
    along_n = TensorSpec((b, n, d), (n * d, d, 1), "complex64")
    cost = rule(Call("aten._fft_c2c.default", {"self": along_n, "dim": (1,)}, (out,)))
    sizes = {"b": 3, "n": 64, "d": 5}
    assert as_expr(cost.flop_other).evaluate(sizes) == 5 * 3 * 64 * 5 * 6
    assert cost.scratch_bytes == b * n * d * 8


def test_dimensions_must_be_known() -> None:
    rule = find_rule("aten._fft_c2c.default")
    assert rule is not None
    tensor = TensorSpec((3, 4), (4, 1), "complex64")
    with pytest.raises(DerivationError, match="dimensions"):
        rule(Call("aten._fft_c2c.default", {"self": tensor, "dim": 1}, (tensor,)))
