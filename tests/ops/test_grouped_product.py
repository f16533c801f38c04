"""Grouped products and row orders against loops, odd groups and empty ones, with gradients."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from costlab.ops.grouped_product import grouped_product
from costlab.ops.row_order import copies_in_order, inverse, reordered

_STARTS, _ENDS = [0, 3, 3, 4], [3, 3, 4, 9]  # the second group has no rows


def _plain(rows: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
    parts = zip(_STARTS, _ENDS, matrices, strict=True)
    return torch.cat([rows[start:end] @ matrix for start, end, matrix in parts])


def test_each_group_meets_its_matrix_in_both_passes() -> None:
    rows = torch.randn(9, 5, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(4, 5, 7, dtype=torch.float64, requires_grad=True)
    ends = torch.tensor(_ENDS)
    ours, plain = grouped_product(rows, matrices, ends), _plain(rows, matrices)
    torch.testing.assert_close(ours, plain, rtol=0, atol=1e-13)
    upstream = torch.randn_like(ours)
    got, want = (torch.autograd.grad(y, (rows, matrices), upstream) for y in (ours, plain))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)
    assert not got[1][1].any()


def test_torchs_counter_sees_what_the_loop_does() -> None:
    rows = torch.randn(9, 5, requires_grad=True)
    matrices = torch.randn(4, 5, 7, requires_grad=True)
    counts = []
    for product in (lambda: grouped_product(rows, matrices, torch.tensor(_ENDS)),
                    lambda: _plain(rows, matrices)):  # fmt: skip
        with FlopCounterMode(display=False) as counter:
            product().sum().backward()
        counts.append(counter.get_total_flops())
    assert counts == [3 * 2 * 9 * 5 * 7] * 2


def test_orders_and_their_gradients_are_those_of_indexing() -> None:
    rows = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    order = torch.randperm(10)
    back = inverse(order)
    copied = copies_in_order(rows, order, back, 2)
    again = reordered(copied, back, order)
    plain = rows.repeat_interleave(2, 0)
    torch.testing.assert_close(copied, plain[order], rtol=0, atol=0)
    torch.testing.assert_close(again, plain, rtol=0, atol=0)
    upstream = torch.randn_like(again)
    got, want = (torch.autograd.grad(y, rows, upstream, retain_graph=True) for y in (again, plain))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-14)
