"""Softmax counts against the textbook formulas, counted while they are computed."""

from __future__ import annotations

import pytest
import torch

from tests.rules.counting import Counter, Number, exp, log
from tests.rules.recorder import cost_of, measure, only

ROW = [0.3, -1.2, 2.0, 0.1, 0.7]


def _sum(numbers: list[Number]) -> Number:
    total = Number(0.0, numbers[0].counter)
    for number in numbers:
        total = total + number
    return total


def _greatest(numbers: list[Number]) -> Number:
    top = Number(-float("inf"), numbers[0].counter)
    for number in numbers:
        top = top.max(number)
    return top


def _shifted(row: list[Number]) -> list[Number]:
    top = _greatest(row)
    return [x - top for x in row]


def _softmax(row: list[Number]) -> list[Number]:
    exps = [exp(x) for x in _shifted(row)]
    total = _sum(exps)
    return [e / total for e in exps]


def _log_softmax(row: list[Number]) -> list[Number]:
    shifted = _shifted(row)
    total = log(_sum([exp(x) for x in shifted]))
    return [x - total for x in shifted]


def _logsumexp(row: list[Number]) -> list[Number]:
    top = _greatest(row)
    return [log(_sum([exp(x - top) for x in row])) + top]


@pytest.mark.parametrize(
    ("formula", "name"),
    [(_softmax, "softmax"), (_log_softmax, "log_softmax"), (_logsumexp, "logsumexp")],
)
def test_forward(formula: object, name: str) -> None:
    counter = Counter()
    result = formula(counter.numbers(ROW))  # type: ignore[operator]
    rows = torch.tensor([ROW, ROW, ROW])
    op = "aten.logsumexp" if name == "logsumexp" else f"aten._{name}"
    found, cost = only(lambda: getattr(rows, name)(-1), op)
    torch.testing.assert_close(
        torch.tensor([x.value for x in result]), found.outputs[0][0].reshape(-1)
    )
    assert cost.flop_other == 3 * counter.operations


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_backward(name: str) -> None:
    x = torch.tensor([ROW, ROW], requires_grad=True)
    gradient = torch.tensor([[1.0, -2.0, 0.5, 0.25, 3.0]] * 2)
    y = getattr(x, name)(-1)
    found, cost = only(lambda: y.backward(gradient), f"aten._{name}_backward_data")
    counter = Counter()
    ys, gs = counter.numbers(y[0].tolist()), counter.numbers(gradient[0].tolist())
    if name == "softmax":
        total = _sum([a * b for a, b in zip(gs, ys, strict=True)])
        expected = [(g - total) * p for g, p in zip(gs, ys, strict=True)]
    else:
        total = _sum(gs)
        expected = [g - exp(p) * total for g, p in zip(gs, ys, strict=True)]
    torch.testing.assert_close(torch.tensor([e.value for e in expected]), found.outputs[0][0])
    assert cost.flop_other == 2 * counter.operations
    assert (cost.bytes_read, cost.bytes_written) == (2 * 10 * 4, 10 * 4)


def test_first_dimension_has_other_rows() -> None:
    x = torch.rand(3, 5, 7)
    assert only(lambda: x.log_softmax(1), "aten._log_softmax")[1].flop_other == 5 * 105 + 21
    assert only(lambda: x.logsumexp((0, 2)), "aten.logsumexp")[1].flop_other == 4 * 105 + 2 * 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_layouts_are_copied_first(dtype: torch.dtype) -> None:
    x = torch.rand(3, 7, 5).to(dtype)
    for y in (x, x.mT, x[:, :, ::2], x[:, :1].expand(3, 7, 5), x[:1]):
        for run in (lambda y=y: y.softmax(-1), lambda y=y: y.log_softmax(1)):
            [(call, scratch)] = measure(run)
            assert cost_of(call).scratch_bytes == scratch
