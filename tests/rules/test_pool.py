"""Pooling: windows counted by hand at odd sizes."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from tests.rules.recorder import cost_of, only, record


def _windows(length: int, kernel: int, step: int) -> int:
    return len(range(0, length - kernel + 1, step))


def test_average_adds_every_element_of_every_window() -> None:
    x = torch.rand(2, 3, 11)
    found = [r for r in record(lambda: F.avg_pool1d(x, 4, 2)) if "avg_pool" in r.call.op]
    count = _windows(11, 4, 2)
    cost = cost_of(found[0].call)
    assert cost.flop_other == 2 * 3 * count * (4 + 1)
    assert (cost.bytes_read, cost.bytes_written) == (x.nbytes, 6 * count * 4)
    image = torch.rand(2, 3, 11, 7)
    _, cost = only(lambda: F.avg_pool2d(image, 3), "aten.avg_pool2d")
    assert cost.flop_other == 6 * _windows(11, 3, 3) * _windows(7, 3, 3) * (9 + 1)


def test_maximum_keeps_positions_and_scatters_back() -> None:
    x = torch.rand(2, 3, 11, requires_grad=True)
    found, cost = only(lambda: F.max_pool1d(x, 4, 2), "aten.max_pool2d_with_indices")
    count = _windows(11, 4, 2)
    assert cost.flop_other == 6 * count * 4
    assert cost.bytes_written == sum(t.nbytes for t in found.outputs) == 6 * count * (4 + 8)
    y = F.max_pool1d(x, 4, 2)
    gradient = torch.rand(y.shape)
    _, cost = only(lambda: y.backward(gradient), "aten.max_pool2d_with_indices_backward")
    assert cost.flop_other == gradient.numel()
    assert cost.bytes_written == x.nbytes + gradient.nbytes


def test_gradient_of_an_average_reaches_every_element_of_its_window() -> None:
    x = torch.rand(2, 3, 11, requires_grad=True)
    y = F.avg_pool1d(x, 4, 2)
    _, cost = only(lambda: y.backward(torch.ones(y.shape)), "aten.avg_pool2d_backward")
    assert cost.flop_other == y.numel() * (4 + 1)


def test_adaptive_average_covers_the_input() -> None:
    x = torch.rand(2, 3, 12, 10, requires_grad=True)
    _, cost = only(lambda: F.adaptive_avg_pool2d(x, (4, 5)), "aten._adaptive_avg_pool2d")
    assert cost.flop_other == x.numel() + 2 * 3 * 4 * 5


def test_nearest_neighbours_are_copies() -> None:
    x = torch.rand(2, 3, 7)
    found, cost = only(lambda: F.interpolate(x, scale_factor=2.0), "aten.upsample_nearest1d")
    assert (cost.flop_other, cost.bytes_written) == (0, 2 * 3 * 14 * 4)
    assert found.outputs[0].shape == (2, 3, 14)
