"""Fused optimizer steps against their formulas and against the step made of list operators."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from costlab.algebra import as_expr
from tests.rules.counting import Counter, Number, sqrt
from tests.rules.recorder import cost_of, record

SIZES = ((5, 7), (3,))
ELEMENTS, FLOAT = 38, 4


def _step(kind: type[torch.optim.Optimizer], **options: Any) -> list[torch.Tensor]:
    parameters = [torch.zeros(size, requires_grad=True) for size in SIZES]
    optimizer = kind(parameters, **options)
    costs = []
    for _ in range(2):
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        seen = record(optimizer.step)
        costs = [(r.call.op, cost_of(r.call)) for r in seen]
    return costs  # type: ignore[return-value]


def _fused(kind: type[torch.optim.Optimizer], **options: Any) -> Any:
    [(_, cost)] = [c for c in _step(kind, fused=True, **options) if "_fused_" in str(c[0])]
    return cost


def _adam(decay: float, decoupled: bool) -> int:
    counter = Counter()
    p, g, m, v = counter.numbers([1.0, 0.5, 0.1, 0.2])
    if decay and decoupled:
        p = p * (1 - 0.01 * decay)
    elif decay:
        g = g + p * decay
    m = m + (g - m) * 0.1
    v = v * 0.999 + g * g * 0.001
    denominator = sqrt(v) / 0.9 + 1e-8
    result: Number = p - m * 0.01 / denominator
    assert result.value < p.value
    return counter.operations


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam(decay: float) -> None:
    plain = _fused(torch.optim.Adam, weight_decay=decay)
    decoupled = _fused(torch.optim.AdamW, weight_decay=decay)
    assert plain.flop_other == ELEMENTS * _adam(decay, decoupled=False)
    assert decoupled.flop_other == ELEMENTS * _adam(decay, decoupled=True)
    assert plain.bytes_read == 4 * ELEMENTS * FLOAT
    assert plain.bytes_written == 3 * ELEMENTS * FLOAT


def test_amsgrad_keeps_one_more_state() -> None:
    cost, plain = _fused(torch.optim.Adam, amsgrad=True), _fused(torch.optim.Adam)
    assert cost.bytes_read == 5 * ELEMENTS * FLOAT
    assert cost.bytes_written == 4 * ELEMENTS * FLOAT
    assert cost.flop_other == plain.flop_other + ELEMENTS


def test_sgd() -> None:
    assert _fused(torch.optim.SGD).flop_other == 2 * ELEMENTS
    cost = _fused(torch.optim.SGD, momentum=0.9, nesterov=True, weight_decay=0.1)
    counter = Counter()
    p, g, buffer = counter.numbers([1.0, 0.5, 0.2])
    g = g + p * 0.1
    buffer = buffer * 0.9 + g * 1.0
    _ = p - (g + buffer * 0.9) * 0.01
    assert cost.flop_other == ELEMENTS * counter.operations
    assert cost.bytes_read == 3 * ELEMENTS * FLOAT
    assert cost.bytes_written == 2 * ELEMENTS * FLOAT


def test_step_of_lists_moves_more_for_about_the_same_arithmetic() -> None:
    fused = _fused(torch.optim.Adam)
    lists = [cost for op, cost in _step(torch.optim.Adam, foreach=True) if "_foreach_" in str(op)]
    arithmetic = sum(as_expr(cost.flop_other).constant() for cost in lists)
    moved = sum(as_expr(cost.bytes_read).constant() for cost in lists)
    assert abs(arithmetic - fused.flop_other) <= 2 * ELEMENTS
    assert moved > 2 * fused.bytes_read
