"""Gathers: bytes of the addressed elements only, checked by counting addresses."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from tests.rules.recorder import cost_of, measure, only, record

INT, FLOAT = 8, 4


def test_table_size_does_not_matter() -> None:
    indices = torch.randint(11, (3, 7))
    small, large = nn.Embedding(11, 5), nn.Embedding(1000, 5)
    costs = [only(partial(table, indices), "aten.embedding")[1] for table in (small, large)]
    assert costs[0] == costs[1]
    assert costs[0].bytes_read == 21 * INT + 21 * 5 * FLOAT
    assert costs[0].bytes_written == 21 * 5 * FLOAT


def test_gather_reads_one_element_per_index() -> None:
    x, index = torch.rand(3, 100, 5), torch.randint(100, (3, 7, 5))
    found, cost = only(lambda: x.gather(1, index), "aten.gather")
    visits = sum(1 for _ in index.flatten().tolist())
    assert found.outputs[0].numel() == visits
    assert cost.bytes_read == visits * (INT + FLOAT)
    assert cost.flop_other == 0


def test_expanded_index_is_read_as_addressed() -> None:
    x, index = torch.rand(9, 5), torch.randint(9, (7, 1)).expand(7, 5)
    assert only(lambda: x.gather(0, index), "aten.gather")[1].bytes_read == 35 * (INT + FLOAT)


@pytest.mark.parametrize(
    "pick",
    [
        lambda x: x[torch.tensor([0, 2, 2])],
        lambda x: x[:, torch.tensor([0, 1])],
        lambda x: x[torch.tensor([[0], [1]]), torch.tensor([[2, 3, 4]])],
        lambda x: x[x[..., 0] > 0.5],
        lambda x: x.index_select(1, torch.tensor([3, 3])),
    ],
)
def test_picks_read_what_they_return(pick: object) -> None:
    x = torch.rand(3, 7, 5)
    [recorded] = [r for r in record(lambda: pick(x)) if ".index" in r.call.op]  # type: ignore[operator]
    cost = cost_of(recorded.call)
    indices = sum(t.nbytes for t in recorded.call.tensors()) - x.nbytes
    returned = recorded.outputs[0].numel() * FLOAT
    assert cost.bytes_read == indices + returned
    assert cost.bytes_written == returned


def test_mask_is_read_whole() -> None:
    x = torch.rand(3, 7)
    found, cost = only(lambda: x.masked_select(x > 0.5), "aten.masked_select")
    assert cost.bytes_read == 21 + found.outputs[0].nbytes
    found, cost = only(lambda: (x > 0.5).nonzero(), "aten.nonzero")
    assert cost.flop_other == 21
    assert cost.bytes_written == found.outputs[0].nbytes


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scratch_of_gathers(dtype: torch.dtype) -> None:
    x, rows = torch.rand(9, 64).to(dtype), torch.randint(9, (7, 1))
    runs = [
        lambda: x.gather(0, rows.expand(7, 64)), lambda: x.gather(0, rows.expand(7, 40)),
        lambda: x.gather(1, rows), lambda: x[:, 0].gather(0, rows[:, 0]), lambda: x[rows[:, 0]],
        lambda: x[rows[:, 0].int()], lambda: x[x > 0.5], lambda: x[x[:, 0] > 0.5],
        lambda: torch.repeat_interleave(rows[:, 0]), lambda: x.masked_select(x > 0.5),
    ]  # fmt: skip
    for run in runs:
        for call, scratch in measure(run):
            assert cost_of(call).scratch_bytes == scratch, call
