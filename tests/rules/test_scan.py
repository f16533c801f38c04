"""Cumulative operators: one pass, one combination per element."""

from __future__ import annotations

import torch

from costlab.rules.scan import LOGCUMSUMEXP_OPERATIONS
from tests.rules.counting import Counter, exp, log1p
from tests.rules.recorder import only


def test_sums_and_products_combine_once_per_element() -> None:
    x = torch.rand(3, 7, 5)
    for run, op in ((lambda: x.cumsum(1), "aten.cumsum"), (lambda: x.cumprod(1), "aten.cumprod")):
        _, cost = only(run, op)
        assert (cost.flop_other, cost.bytes_read, cost.bytes_written) == (105, 420, 420)


def test_running_extreme_writes_values_and_positions() -> None:
    x = torch.rand(3, 7)
    found, cost = only(lambda: x.cummax(1), "aten.cummax")
    assert cost.bytes_written == sum(t.nbytes for t in found.outputs) == 21 * 12


def test_logcumsumexp_takes_as_many_operations_as_its_formula() -> None:
    counter = Counter()
    running, x = counter.numbers([0.3, 1.2])
    low, high = running.min(x), running.max(x)
    result = log1p(exp(low - high)) + high
    values = torch.tensor([0.3, 1.2])
    torch.testing.assert_close(torch.tensor(result.value), torch.logcumsumexp(values, 0)[1])
    assert counter.operations == LOGCUMSUMEXP_OPERATIONS
    _, cost = only(lambda: torch.logcumsumexp(values, 0), "aten.logcumsumexp")
    assert cost.flop_other == 2 * LOGCUMSUMEXP_OPERATIONS


def test_truth_values_are_cast_before_they_are_summed() -> None:
    mask = torch.rand(3, 7) > 0.5
    assert only(lambda: mask.cumsum(1), "aten.cumsum")[1].scratch_bytes == 21 * 8
