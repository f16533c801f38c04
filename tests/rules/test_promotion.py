"""Common types against torch.result_type over every pair; casts against the profiler."""

from __future__ import annotations

import itertools

import pytest
import torch

from costlab.rules.promotion import common_dtype
from tests.rules.recorder import cost_of, measure, spec

DTYPES = [
    torch.bool, torch.int32, torch.int64, torch.bfloat16, torch.float16, torch.float32,
    torch.float64,
]  # fmt: skip
COMPLEX_PAIRS = [
    (torch.complex64, other)
    for other in (torch.bool, torch.int64, torch.float32, torch.float64, torch.complex64)
]
PAIRS = [*itertools.product(DTYPES, DTYPES), *COMPLEX_PAIRS, *(p[::-1] for p in COMPLEX_PAIRS)]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=str)
def test_common_type_is_torchs(a: torch.dtype, b: torch.dtype) -> None:
    for left, right in itertools.product(((3,), ()), repeat=2):
        x, y = torch.zeros(left, dtype=a), torch.zeros(right, dtype=b)
        assert common_dtype((spec(x), spec(y))) == _name(torch.result_type(x, y)), (left, right)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_equal_types_need_no_cast(dtype: torch.dtype) -> None:
    x, single = torch.zeros(3, dtype=dtype), torch.zeros((), dtype=dtype)
    assert common_dtype((spec(x), spec(single))) == _name(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", [2, 0.5])
def test_common_type_with_a_number_is_torchs(dtype: torch.dtype, number: float) -> None:
    x = torch.zeros(3, dtype=dtype)
    assert common_dtype((spec(x),), number) == _name(torch.result_type(x, number))


@pytest.mark.parametrize(("a", "b"), [p for p in PAIRS if torch.bool not in p], ids=str)
def test_casts_are_what_the_profiler_sees(a: torch.dtype, b: torch.dtype) -> None:
    x, y = torch.ones(7, 5, dtype=a), torch.ones(7, 1, dtype=b)
    runs = [lambda: x * y, lambda: x == y, lambda: torch.where(y == 1, x, y), lambda: x + 1]
    if torch.can_cast(torch.result_type(x, y), a):
        runs.append(lambda: x.add_(y))
    for run in runs:
        for call, scratch in measure(run):
            assert cost_of(call).scratch_bytes == scratch, call


def test_gpu_kernels_cast_in_registers() -> None:
    x, y = torch.ones(7, 5, dtype=torch.bfloat16), torch.ones(7, 5)
    [(call, scratch)] = measure(lambda: x * y)
    assert scratch > 0
    cuda = type(call)(call.op, call.args, call.outs, backend="cuda")
    assert cost_of(cuda).scratch_bytes == 0
