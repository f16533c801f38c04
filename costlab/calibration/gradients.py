"""Backward kernels: inputs that require gradients, and the output to start from. Needs torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from costlab.calibration.maker import ROW, Maker

Gradient = tuple[tuple[Tensor, ...], Tensor]


def _attention_gradient(make: Maker, heads: int, n: int, m: int, width: int) -> Gradient:
    q = make(1, heads, n, width, grad=True)
    k, v = make(1, heads, m, width, grad=True), make(1, heads, m, width, grad=True)
    return (q, k, v), F.scaled_dot_product_attention(q, k, v)


def _lstm_gradient(make: Maker, batch: int, steps: int, width: int, hidden: int) -> Gradient:
    module = torch.nn.LSTM(width, hidden, device=make.device, dtype=make.dtype)
    x = make(steps, batch, width, grad=True)
    output: Tensor = module(x)[0]
    return (x, *module.parameters()), output


def _convolution_gradient(
    make: Maker, batch: int, channels: int, filters: int, length: int, kernel: int
) -> Gradient:
    x = make(batch, channels, length, grad=True)
    weight = make(filters, channels, kernel, grad=True)
    return (x, weight), F.conv1d(x, weight, padding=kernel // 2)


def _gelu_gradient(make: Maker, elements: int) -> Gradient:
    x = make(elements, grad=True)
    return (x,), F.gelu(x)


def _elu_gradient(make: Maker, elements: int) -> Gradient:
    x = make(elements, grad=True)
    return (x,), F.elu(x)


def _softmax_gradient(make: Maker, elements: int) -> Gradient:
    x = make(elements // ROW, ROW, grad=True)
    return (x,), torch.softmax(x, -1)


def _layer_norm_gradient(make: Maker, elements: int) -> Gradient:
    x = make(elements // ROW, ROW, grad=True)
    weight, bias = make(ROW, grad=True), make(ROW, grad=True)
    return (x, weight, bias), F.layer_norm(x, (ROW,), weight, bias)


GRADIENTS: dict[str, Callable[..., Gradient]] = {
    "attention_backward": _attention_gradient,
    "lstm_backward": _lstm_gradient,
    "convolution_backward": _convolution_gradient,
    "gelu_backward": _gelu_gradient,
    "elu_backward": _elu_gradient,
    "softmax_backward": _softmax_gradient,
    "layer_norm_backward": _layer_norm_gradient,
}
