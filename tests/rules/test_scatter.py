"""Scatters: addressed elements counted by adding ones into zeros."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from costlab.algebra import as_expr
from tests.rules.recorder import cost_of, measure, only, record

INT, FLOAT = 8, 4

INDICES: list[tuple[torch.Tensor | None, ...]] = [
    (torch.tensor([0, 2, 2]),),
    (None, torch.tensor([0, 1])),
    (torch.tensor([[0], [1]]), torch.tensor([[2, 3, 4]])),
    (torch.tensor([0, 1]), None, torch.tensor([4, 4])),
]


@pytest.mark.parametrize("indices", INDICES)
def test_addressed_elements_are_counted(indices: tuple[torch.Tensor | None, ...]) -> None:
    """The sum of what accumulating a one per address leaves is how many addresses there are."""
    base, one = torch.zeros(3, 7, 5), torch.tensor(1.0)
    put = torch.ops.aten.index_put_.default
    found, cost = only(lambda: put(base, indices, one, True), "aten.index_put_")
    addressed = int(found.outputs[0].sum())
    index_bytes = sum(t.nbytes for t in indices if t is not None)
    assert cost.flop_other == addressed
    assert cost.bytes_written == addressed * FLOAT
    assert cost.bytes_read == index_bytes + FLOAT + addressed * FLOAT


def test_assignment_does_not_read_what_it_overwrites() -> None:
    base, values = torch.zeros(9, 5), torch.rand(3, 5)
    index = torch.tensor([0, 2, 4])
    _, cost = only(lambda: base.index_put_((index,), values), "aten.index_put_")
    assert (cost.bytes_read, cost.bytes_written) == (3 * INT + 60, 60)
    _, cost = only(lambda: base.index_copy_(0, index, values), "aten.index_copy_")
    assert (cost.bytes_read, cost.bytes_written) == (3 * INT + 60, 60)


def test_result_of_its_own_copies_the_base() -> None:
    base, index = torch.zeros(9, 5), torch.randint(9, (3, 5))
    source = torch.rand(3, 5)
    _, into = only(lambda: base.scatter_add_(0, index, source), "aten.scatter_add_")
    _, new = only(lambda: base.scatter_add(0, index, source), "aten.scatter_add")
    assert as_expr(new.bytes_read) - into.bytes_read == base.nbytes
    assert as_expr(new.bytes_written) - into.bytes_written == base.nbytes
    assert new.flop_other == into.flop_other == 15
    assert into.bytes_read == 15 * (INT + FLOAT + FLOAT)


def test_index_add_moves_slices() -> None:
    base, source = torch.zeros(3, 9, 5), torch.rand(3, 4, 5)
    index = torch.tensor([0, 1, 1, 8])
    _, cost = only(lambda: base.index_add_(1, index, source), "aten.index_add_")
    assert cost.flop_other == source.numel()
    assert cost.bytes_read == 4 * INT + 2 * source.nbytes
    assert cost.bytes_written == source.nbytes
    _, fill = only(lambda: base.index_fill_(1, index, 1.0), "aten.index_fill_")
    assert (fill.bytes_read, fill.bytes_written) == (4 * INT, source.nbytes)


def test_embedding_gradient_writes_the_whole_table() -> None:
    table = nn.Embedding(11, 5)
    y = table(torch.randint(11, (3, 7)))
    gradient = torch.rand(3, 7, 5)
    _, cost = only(lambda: y.backward(gradient), "aten.embedding_dense_backward")
    assert cost.flop_other == gradient.numel()
    assert cost.bytes_written == 11 * 5 * FLOAT + gradient.nbytes
    assert cost.bytes_read == 21 * INT + 2 * gradient.nbytes


def test_mask_assignment() -> None:
    base = torch.rand(3, 7)
    mask = base > 0.5
    count = int(mask.sum())
    values = torch.zeros(count)
    put = torch.ops.aten.index_put_.default
    _, cost = only(lambda: put(base, [mask], values), "aten.index_put_")
    assert cost.bytes_written == count * FLOAT
    assert cost.bytes_read == mask.nbytes + values.nbytes
    _, one = only(lambda: put(base, [mask], torch.tensor(0.0)), "aten.index_put_")
    assert one.bytes_written == base.nbytes


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scratch_of_scatters(dtype: torch.dtype, threads: int) -> None:
    rows, width = 3000, 64
    x, index = torch.zeros(50, width, dtype=dtype), torch.randint(50, (rows, 1))
    wide, narrow = torch.rand(rows, width).to(dtype), torch.rand(rows, 15).to(dtype)
    thin, gradient = torch.zeros(50, 15, dtype=dtype), torch.rand(1, width).to(dtype)
    runs: list[Callable[[], object]] = [
        lambda: x.index_add_(0, index[:, 0], wide), lambda: thin.index_add_(0, index[:, 0], narrow),
        lambda: x.t().index_add_(1, index[:, 0], wide.t()),
        lambda: x.scatter_add_(0, index.expand(rows, width), wide),
        lambda: x.scatter_(0, index.expand(rows, width), wide), lambda: x.scatter_(0, index, 1.0),
        lambda: x.scatter_reduce_(0, index.expand(rows, width), wide, "amax"),
        lambda: x[:, 0].clone().index_add_(0, index[:, 0], wide[:, 0]),
        lambda: torch.ops.aten.embedding_dense_backward(
            gradient.expand(rows, width), index[:, 0], 50, -1, False
        ),
    ]  # fmt: skip
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        measured = [pair for run in runs for pair in measure(run)]
    finally:
        torch.set_num_threads(before)
    for call, scratch in measured:
        assert as_expr(cost_of(call).scratch_bytes).evaluate({"threads": threads}) == scratch, call


def test_assignments_by_slice_are_copies() -> None:
    x = torch.rand(3, 7)

    def assign() -> None:
        x[:, 0] = 1.0

    assert [r.call.op for r in record(assign)] == ["aten.fill_.Tensor"]
