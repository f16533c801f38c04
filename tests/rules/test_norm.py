"""Normalisation counts against the textbook formulas, counted while they are computed."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from costlab.algebra import symbol
from tests.rules.counting import Counter, Number, sqrt
from tests.rules.recorder import only

ROW = [0.3, -1.2, 2.0, 0.1, 0.7]
WEIGHT = [1.0, 0.5, -1.0, 2.0, 0.2]
BIAS = [0.0, 1.0, -0.5, 0.3, 0.9]
GRADIENT = [1.0, -2.0, 0.5, 0.25, 3.0]
EPS = 1e-5


def _sum(numbers: list[Number]) -> Number:
    total = Number(0.0, numbers[0].counter)
    for number in numbers:
        total = total + number
    return total


def _normalise(row: list[Number]) -> list[Number]:
    """Mean, variance about it, then ``(x - mean) * rstd``."""
    mean = _sum(row) / len(row)
    around = [x - mean for x in row]
    variance = _sum([a * a for a in around]) / len(row)
    rstd = (variance + EPS).apply(lambda v: v**-0.5)
    return [(x - mean) * rstd for x in row]


def _layer_norm(affine: bool) -> tuple[nn.LayerNorm, torch.Tensor]:
    layer = nn.LayerNorm(5, elementwise_affine=affine)
    if affine:
        layer.weight.data = torch.tensor(WEIGHT)
        layer.bias.data = torch.tensor(BIAS)
    return layer, torch.tensor([ROW] * 3, requires_grad=True)


def test_layer_norm_forward() -> None:
    layer, x = _layer_norm(affine=True)
    found, cost = only(lambda: layer(x), "aten.native_layer_norm")
    counter = Counter()
    row, weight, bias = (counter.numbers(v) for v in (ROW, WEIGHT, BIAS))
    result = [n * w + b for n, w, b in zip(_normalise(row), weight, bias, strict=True)]
    torch.testing.assert_close(torch.tensor([r.value for r in result]), found.outputs[0][0])
    assert cost.flop_other == 3 * counter.operations
    assert (cost.bytes_read, cost.bytes_written) == ((15 + 10) * 4, (15 + 6) * 4)


def test_layer_norm_without_weights() -> None:
    layer, x = _layer_norm(affine=False)
    _, cost = only(lambda: layer(x), "aten.native_layer_norm")
    counter = Counter()
    _normalise(counter.numbers(ROW))
    assert cost.flop_other == 3 * counter.operations


def test_layer_norm_backward() -> None:
    layer, x = _layer_norm(affine=True)
    y = layer(x)
    gradient = torch.tensor([GRADIENT] * 3)
    found, cost = only(lambda: y.backward(gradient), "aten.native_layer_norm_backward")
    counter = Counter()
    xs = torch.tensor(ROW)
    mean, rstd = xs.mean().item(), (xs.var(correction=0) + EPS).rsqrt().item()
    row, gs, ws = (counter.numbers(v) for v in (ROW, GRADIENT, WEIGHT))
    hats = [(v - mean) * rstd for v in row]
    scaled = [g * w for g, w in zip(gs, ws, strict=True)]
    a = _sum(scaled).value / 5
    b = _sum([s * h for s, h in zip(scaled, hats, strict=True)]).value / 5
    dx = [(s - a - h * b) * rstd for s, h in zip(scaled, hats, strict=True)]
    for_weight = [g * h + 0.0 for g, h in zip(gs, hats, strict=True)]
    for_bias = [g + 0.0 for g in gs]
    torch.testing.assert_close(torch.tensor([v.value for v in dx]), found.outputs[0][0])
    torch.testing.assert_close(torch.tensor([3 * v.value for v in for_weight]), found.outputs[1])
    torch.testing.assert_close(torch.tensor([3 * v.value for v in for_bias]), found.outputs[2])
    assert cost.flop_other == 3 * counter.operations
    assert cost.scratch_bytes == symbol("threads") * 2 * 5 * 4


def test_layer_norm_backward_without_weight_gradients() -> None:
    layer, x = _layer_norm(affine=True)
    layer.requires_grad_(False)
    y = layer(x)
    found, cost = only(lambda: y.backward(y.detach()), "aten.native_layer_norm_backward")
    assert len(found.outputs) == 1
    assert cost.flop_other == 15 * 10
    assert cost.scratch_bytes == 0


def test_group_norm_is_layer_norm_of_its_groups() -> None:
    x = torch.rand(3, 6, 7)
    group, layer = nn.GroupNorm(2, 6), nn.LayerNorm(21)
    _, cost = only(lambda: group(x), "aten.native_group_norm")
    _, rows = only(lambda: layer(x.view(6, 21)), "aten.native_layer_norm")
    assert cost.flop_other == rows.flop_other


def test_batch_norm_evaluated_is_a_line_per_channel() -> None:
    layer, x = nn.BatchNorm1d(6), torch.rand(3, 6, 7)
    _, trains = only(lambda: layer(x), "aten.native_batch_norm")
    layer.eval()
    _, evaluates = only(lambda: layer(x), "aten.native_batch_norm")
    assert trains.flop_other == 126 * 8 + 6 * 4
    assert evaluates.flop_other == 126 * 2 + 6 * 4


def test_rms_norm_is_layer_norm_without_the_mean() -> None:
    with torch.inference_mode():
        x, weight = torch.rand(3, 5), torch.tensor(WEIGHT)
        found, cost = only(lambda: torch.rms_norm(x, (5,), weight, EPS), "aten.rms_norm")
    counter = Counter()
    row, ws = counter.numbers(x[0].tolist()), counter.numbers(WEIGHT)
    mean = _sum([v * v for v in row]) / 5
    root = 1 / sqrt(mean + EPS)
    result = [v * root * w for v, w in zip(row, ws, strict=True)]
    torch.testing.assert_close(torch.tensor([r.value for r in result]), found.outputs[0][0])
    assert cost.flop_other == 3 * counter.operations


@pytest.mark.parametrize("width", [5, 8])
def test_weight_norm(width: int) -> None:
    v, g = torch.rand(3, width), torch.rand(3, 1)
    _, cost = only(lambda: torch._weight_norm_interface(v, g, 0), "aten._weight_norm_interface")
    assert cost.flop_other == 3 * width * 3
    assert cost.bytes_read == (3 * width + 3) * 4
