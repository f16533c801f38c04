"""Creation: allocation costs nothing, a fill writes its bytes, bookkeeping is free."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from costlab.rules.base import Cost
from tests.rules.recorder import cost_of, record

FREE = Cost("none", launches=0)
X = torch.rand(3, 7)


@pytest.mark.parametrize(
    "run",
    [
        lambda: torch.empty(3, 7),
        lambda: torch.empty_like(X),
        lambda: X.new_empty(2),
        lambda: torch.empty_strided((3, 7), (7, 1)),
        lambda: X.clone().transpose_(0, 1),
        lambda: X.clone().unsqueeze_(0),
        lambda: torch._assert_async(torch.tensor(True)),
    ],
)
def test_nothing_is_written(run: Callable[[], object]) -> None:
    assert cost_of(record(run)[-1].call) == FREE


@pytest.mark.parametrize(
    "run",
    [
        lambda: torch.zeros(3, 7),
        lambda: torch.ones(3, 7, dtype=torch.bool),
        lambda: torch.full((3, 7), 2.0),
        lambda: torch.zeros_like(X),
        lambda: X.new_zeros(2, 2),
        lambda: torch.eye(5),
        lambda: X.clone().zero_(),
        lambda: X.clone().fill_(1.0),
        lambda: torch.ops.aten.scalar_tensor(1.0),
    ],
)
def test_fill_writes_every_element(run: Callable[[], object]) -> None:
    last = record(run)[-1]
    written = sum(t.nbytes for t in last.outputs)
    assert cost_of(last.call) == Cost("copy", bytes_written=written)


def test_list_fill() -> None:
    [recorded] = record(lambda: torch._foreach_zero_([X.clone(), torch.rand(5)]))[1:][-1:]
    cost = cost_of(recorded.call)
    assert (cost.bytes_written, cost.launches) == (26 * 4, 2)


def test_sequence_is_computed() -> None:
    cost = cost_of(record(lambda: torch.arange(11))[0].call)
    assert (cost.flop_other, cost.bytes_read, cost.bytes_written) == (22, 0, 88)


def test_reading_one_number_moves_one_element() -> None:
    [recorded] = record(lambda: torch.tensor([2.0], dtype=torch.float64)[0].item())[-1:]
    assert cost_of(recorded.call) == Cost("copy", bytes_read=8)
