"""Random numbers: what is written, and the operations of the textbook generators."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from costlab.algebra import as_expr
from costlab.rules.random import BERNOULLI, EXPONENTIAL, NORMAL, UNIFORM
from tests.rules.counting import Counter, log, sqrt
from tests.rules.recorder import cost_of, measure, only, record


def test_normal_numbers_by_box_muller() -> None:
    """Two uniform numbers make two normal ones, each then scaled and shifted."""
    counter = Counter(operations=2 * UNIFORM)
    u, v = counter.numbers([0.3, 0.7])
    radius, angle = sqrt(log(u) * -2), v * (2 * math.pi)
    for part in (angle.apply(math.cos), angle.apply(math.sin)):
        _ = radius * part * 1.0 + 0.0
    assert counter.operations == 2 * NORMAL
    cost = only(lambda: torch.randn(3, 7), "aten.randn")[1]
    assert (cost.flop_other, cost.bytes_read, cost.bytes_written) == (21 * NORMAL, 0, 84)


def test_exponential_and_bernoulli_from_uniform_numbers() -> None:
    counter = Counter(operations=UNIFORM)
    [u] = counter.numbers([0.3])
    _ = log(u) * -1.0
    assert counter.operations == EXPONENTIAL
    counter.operations = UNIFORM
    u.above(0.5)
    assert counter.operations == BERNOULLI


def test_filling_does_not_read() -> None:
    x = torch.empty(3, 7)
    for run, op in (
        (lambda: x.uniform_(), "aten.uniform_"),
        (lambda: x.normal_(), "aten.normal_"),
        (lambda: x.bernoulli_(0.1), "aten.bernoulli_"),
    ):
        _, cost = only(run, op)
        assert (cost.bytes_read, cost.bytes_written) == (0, 84)
    _, cost = only(lambda: torch.rand(3, 7).bernoulli(), "aten.bernoulli")
    assert (cost.bytes_read, cost.bytes_written) == (84, 84)


def test_fused_dropout_equals_its_parts() -> None:
    """CPU dropout is draw, scale, multiply; the fused operator does the same work."""
    x = torch.rand(3, 7)
    parts = [cost_of(r.call) for r in record(lambda: F.dropout(x, 0.2))]
    _, fused = only(lambda: torch.native_dropout(x, 0.2, True), "aten.native_dropout")
    assert fused.flop_other == sum(as_expr(cost.flop_other).constant() for cost in parts)
    assert fused.bytes_written == 21 * (4 + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scratch_of_random_operators(dtype: torch.dtype) -> None:
    x = torch.rand(3, 7).to(dtype)
    runs = [
        lambda: torch.native_dropout(x, 0.2, True), lambda: torch.randperm(11),
        lambda: torch.ops.aten.native_dropout_backward(x, x > 0.5, 1.25),
        lambda: torch.normal(x, 1.0), lambda: x.bernoulli(), lambda: F.dropout(x, 0.2),
    ]  # fmt: skip
    for run in runs:
        for call, scratch in measure(run):
            assert cost_of(call).scratch_bytes == scratch, call
