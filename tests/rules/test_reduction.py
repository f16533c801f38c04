"""Reductions: operations per input and output element, and what kernels allocate."""

from __future__ import annotations

import math

import pytest
import torch

from tests.rules.counting import Counter, Number, sqrt
from tests.rules.recorder import cost_of, measure, only

VALUES = [0.3, -1.2, 2.0, 0.1, 0.7, 1.1, -0.4]


def _sum(numbers: list[Number]) -> Number:
    total = Number(0.0, numbers[0].counter)
    for number in numbers:
        total = total + number
    return total


def _variance(numbers: list[Number]) -> Number:
    mean = _sum(numbers) / len(numbers)
    around = [x - mean for x in numbers]
    return _sum([a * a for a in around]) / (len(numbers) - 1)


FORMULAS = {
    "sum": (_sum, "aten.sum"),
    "mean": (lambda xs: _sum(xs) / len(xs), "aten.mean"),
    "var": (_variance, "aten.var"),
    "std": (lambda xs: sqrt(_variance(xs)), "aten.std"),
    "norm": (lambda xs: sqrt(_sum([x * x for x in xs])), "aten.linalg_vector_norm"),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_reduction_takes_as_many_operations_as_its_formula(name: str) -> None:
    formula, op = FORMULAS[name]
    rows = torch.tensor([VALUES] * 3)
    found, cost = only(lambda: getattr(rows, name)(dim=1), op)
    counter = Counter()
    result = formula(counter.numbers(VALUES))
    assert result.value == pytest.approx(found.outputs[0][0].item(), rel=1e-5)
    assert cost.flop_other == 3 * counter.operations
    assert (cost.bytes_read, cost.bytes_written) == (21 * 4, 3 * 4)


def test_other_norms() -> None:
    x = torch.rand(3, 5)
    op = "aten.linalg_vector_norm"
    assert only(lambda: x.norm(p=1, dim=1), op)[1].flop_other == 2 * 15
    assert only(lambda: x.norm(p=math.inf, dim=1), op)[1].flop_other == 2 * 15
    assert only(lambda: x.norm(p=3, dim=1), op)[1].flop_other == 3 * 15 + 3


def test_extreme_of_two_tensors_is_pointwise() -> None:
    x = torch.rand(3, 5)
    _, cost = only(lambda: torch.maximum(x, x), "aten.maximum")
    assert cost.kind == "elementwise"
    found, cost = only(lambda: x.max(1), "aten.max")
    assert (cost.kind, cost.flop_other) == ("reduction", 15)
    assert cost.bytes_written == sum(t.nbytes for t in found.outputs) == 3 * (4 + 8)


def test_distances_visit_every_pair() -> None:
    x, y = torch.rand(2, 4, 3), torch.rand(2, 5, 3)
    _, cost = only(lambda: torch.cdist(x, y), "aten._cdist_forward")
    assert cost.flop_other == 2 * 4 * 5 * (3 * 3 + 1)


def test_bilinear_work_is_the_whole_product() -> None:
    a, b, w = torch.rand(7, 3), torch.rand(7, 5), torch.rand(2, 3, 5)
    _, cost = only(lambda: torch.nn.functional.bilinear(a, b, w), "aten._trilinear")
    assert cost.flop_other == 3 * 7 * 2 * 3 * 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_scratch_of_sums_and_means(dtype: torch.dtype) -> None:
    x = torch.rand(6, 37, 4, 16).to(dtype)
    runs = [
        lambda: x.sum(1), lambda: x.sum((1, 3)), lambda: x.sum((0, 1)), lambda: x.sum(),
        lambda: x.sum((2, 3)), lambda: x[:, :, 0].sum((0, 1)), lambda: x[:, :2].sum((0, 1)),
        lambda: x.mean(1), lambda: x.mean(), lambda: x.mean((0, 2)), lambda: x.std(),
        lambda: x.var(), lambda: x.std(1), lambda: x.norm(), lambda: x.any(1),
        lambda: (x > 0.5).sum(1),
    ]  # fmt: skip
    for run in runs:
        for call, scratch in measure(run):
            assert cost_of(call).scratch_bytes == scratch, call
