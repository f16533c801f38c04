"""Losses against their formulas, counted while they are computed, and their scratch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch.nn import functional as F

from costlab.algebra import as_expr
from tests.rules.counting import Counter, Number, log
from tests.rules.recorder import cost_of, measure, only

P, T = [0.3, 0.6, 0.9], [0.0, 1.0, 0.4]


def _squared(p: Number, t: Number) -> Number:
    error = p - t
    return error * error


def _cross_entropy(p: Number, t: Number) -> Number:
    return (t - 1) * log(1 - p) - t * log(p)


@pytest.mark.parametrize(
    ("formula", "function", "op"),
    [
        (_squared, F.mse_loss, "aten.mse_loss"),
        (_cross_entropy, F.binary_cross_entropy, "aten.binary_cross_entropy"),
    ],
)
def test_loss_takes_as_many_operations_as_its_formula(
    formula: Callable[[Number, Number], Number], function: Callable[..., torch.Tensor], op: str
) -> None:
    counter = Counter()
    p, t = counter.numbers(P), counter.numbers(T)
    terms = [formula(a, b) for a, b in zip(p, t, strict=True)]
    total = Number(0.0, counter)
    for term in terms:
        total = total + term
    found, cost = only(lambda: function(torch.tensor(P), torch.tensor(T), reduction="sum"), op)
    assert total.value == pytest.approx(found.outputs[0].item(), rel=1e-5)
    assert cost.flop_other == counter.operations
    _, each = only(lambda: function(torch.tensor(P), torch.tensor(T), reduction="none"), op)
    assert each.flop_other == counter.operations - len(terms)


def test_negative_log_likelihood_reads_one_element_per_target() -> None:
    x = torch.rand(7, 1000).log_softmax(-1).requires_grad_()
    target = torch.randint(1000, (7,))
    _, cost = only(lambda: F.nll_loss(x, target), "aten.nll_loss_forward")
    assert cost.bytes_read == 7 * 8 + 7 * 4
    loss = F.nll_loss(x, target)
    _, cost = only(lambda: loss.backward(torch.tensor(1.0)), "aten.nll_loss_backward")
    assert cost.bytes_written == x.nbytes + 7 * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_scratch_of_losses(dtype: torch.dtype, reduction: str) -> None:
    p, t = torch.rand(7, 5).to(dtype), torch.rand(7, 5).to(dtype)
    functions: list[Callable[..., torch.Tensor]] = [
        F.mse_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy,
        F.binary_cross_entropy_with_logits, F.l1_loss,
    ]  # fmt: skip
    for function in functions:
        for call, scratch in measure(partial(function, p, t, reduction=reduction)):
            assert as_expr(cost_of(call).scratch_bytes).constant() == scratch, call
