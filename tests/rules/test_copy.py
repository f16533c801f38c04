"""Data movement: bytes of what is read and written, cropped and repeated parts included."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch.nn import functional as F

from costlab.algebra import as_expr
from tests.rules.recorder import cost_of, measure, only, record

FLOAT = 4


def test_copy_reads_once_and_writes_once() -> None:
    x = torch.rand(3, 7)
    for run, op in (
        (lambda: x.clone(), "aten.clone"),
        (lambda: x.flip(1), "aten.flip"),
        (lambda: torch.cat([x, x]), "aten.cat"),
        (lambda: torch.stack([x, x]), "aten.stack"),
        (lambda: x.to(torch.bfloat16), "aten._to_copy"),
    ):
        found, cost = only(run, op)
        assert cost.flop_other == 0
        assert cost.bytes_written == sum(t.nbytes for t in found.outputs)
        assert cost.bytes_read == sum(t.nbytes for t in found.call.tensors())


def test_copy_into_does_not_read_its_target() -> None:
    x = torch.empty(3, 7)
    _, cost = only(lambda: x.copy_(torch.rand(7, dtype=torch.float64)), "aten.copy_")
    assert (cost.bytes_read, cost.bytes_written) == (7 * 8, 21 * 4)


def test_expanded_source_is_read_as_addressed() -> None:
    _, cost = only(lambda: torch.rand(3, 1).expand(3, 7).contiguous(), "aten.clone")
    assert (cost.bytes_read, cost.bytes_written) == (21 * FLOAT, 21 * FLOAT)


def test_padding_reads_what_it_keeps() -> None:
    x = torch.rand(3, 7)
    _, cost = only(lambda: F.pad(x, (1, 2, 3, 0)), "aten.constant_pad_nd")
    assert (cost.bytes_read, cost.bytes_written) == (21 * FLOAT, 6 * 10 * FLOAT)
    _, cost = only(lambda: F.pad(x, (-2, 1)), "aten.constant_pad_nd")
    assert (cost.bytes_read, cost.bytes_written) == (3 * 5 * FLOAT, 3 * 6 * FLOAT)


def test_gradient_of_a_slice_fills_the_whole_buffer() -> None:
    x = torch.rand(3, 7, requires_grad=True)
    for piece, op in ((x[:, 1:4], "slice"), (x[:, 2], "select"), (x[:, :3].diagonal(), "diagonal")):
        grad = torch.rand(piece.shape)
        recorded = [r for r in record(partial(piece.backward, grad)) if op in r.call.op]
        cost = cost_of(recorded[0].call)
        whole = recorded[0].outputs[0].nbytes
        assert (cost.bytes_read, cost.bytes_written) == (grad.nbytes, whole + grad.nbytes)


def test_scatter_into_a_slice_copies_the_rest() -> None:
    x, part = torch.rand(3, 7), torch.rand(3, 2)
    _, cost = only(lambda: torch.slice_scatter(x, part, 1, 0, 2), "aten.slice_scatter")
    assert cost.bytes_read == cost.bytes_written == (21 + 6) * FLOAT


def test_gradient_of_overlapping_windows_adds_every_piece() -> None:
    x = torch.rand(3, 7, requires_grad=True)
    pieces = x.unfold(1, 3, 2)
    grad = torch.rand(pieces.shape)
    _, cost = only(lambda: pieces.backward(grad), "aten.unfold_backward")
    assert cost.flop_other == grad.numel() == 3 * 3 * 3
    assert (cost.bytes_read, cost.bytes_written) == (grad.nbytes, 21 * FLOAT)


def test_roll_of_several_dimensions_is_several_rolls() -> None:
    x = torch.rand(3, 7)
    _, once = only(lambda: x.roll(1, 1), "aten.roll")
    _, twice = only(lambda: x.roll((1, 2), (0, 1)), "aten.roll")
    assert twice.bytes_written == 2 * as_expr(once.bytes_written)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scratch_of_copies(dtype: torch.dtype) -> None:
    x = torch.rand(3, 7, 5).to(dtype)
    windows = x.unfold(1, 3, 2).contiguous()
    runs = [
        lambda: x.roll(1, 1), lambda: x.roll((1, 1), (0, 1)), lambda: x.roll((1, 1, 1), (0, 1, 2)),
        lambda: x.repeat(1, 2, 1), lambda: x.repeat(2, 1, 2, 1), lambda: torch.cat([x, x.double()]),
        lambda: torch.ops.aten.unfold_backward(windows, [3, 7, 5], 1, 3, 2), lambda: x.mT.clone(),
        lambda: x.tril(), lambda: F.pad(x, (1, 1)), lambda: torch.cat([x.mT, x.mT], 1),
    ]  # fmt: skip
    for run in runs:
        for call, scratch in measure(run):
            assert cost_of(call).scratch_bytes == scratch, call
