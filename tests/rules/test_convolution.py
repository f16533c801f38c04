"""Convolutions: FLOP against torch's counter, group by group; scratch by profiler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import costlab.rules.convolution  # noqa: F401  registers its rules
from costlab.algebra import as_expr, symbol
from costlab.errors import DerivationError
from costlab.graph import Arg, Call, TensorSpec
from tests.rules.allocations import Run, bytes_with, measure
from tests.rules.recorder import cost_of, only

CONVOLVE: dict[int, Any] = {
    1: F.conv1d, 2: F.conv2d, 3: F.conv3d,
    -1: F.conv_transpose1d, -2: F.conv_transpose2d,
}  # fmt: skip


def torch_count(x: Tensor, weight: Tensor, rank: int, options: dict[str, Any]) -> tuple[int, int]:
    """What torch counts forward and backward, summed over groups run one by one."""
    options = dict(options)
    groups = options.pop("groups", 1)
    forward = backward = 0
    for xs, ws in zip(x.chunk(groups, 1), weight.chunk(groups, 0), strict=True):
        leaves = [t.detach().to("meta").requires_grad_() for t in (xs, ws)]
        with FlopCounterMode(display=False) as counter:
            y = CONVOLVE[rank](*leaves, **options)
        forward += counter.get_total_flops()
        with FlopCounterMode(display=False) as counter:
            y.sum().backward()
        backward += counter.get_total_flops()
    return forward, backward


CASES = [  # x, weight, rank (negative: transposed), options
    ((2, 5, 19), (7, 5, 3), 1, {"padding": 1}),
    ((2, 6, 20), (9, 2, 4), 1, {"groups": 3, "stride": 2}),
    ((3, 8, 11), (8, 1, 4), 1, {"groups": 8, "padding": 3}),
    ((2, 3, 9, 10), (4, 3, 3, 2), 2, {"dilation": 2}),
    ((2, 3, 5, 6, 7), (4, 3, 2, 2, 2), 3, {}),
    ((2, 5, 9), (5, 7, 3), -1, {"stride": 2}),
    ((2, 4, 6, 5), (4, 3, 2, 3), -2, {"padding": 1}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "rank", "options"), CASES)
def test_flop_is_torchs_count_of_the_groups(
    x_shape: tuple[int, ...], w_shape: tuple[int, ...], rank: int, options: dict[str, Any]
) -> None:
    x = torch.randn(x_shape, requires_grad=True)
    weight = torch.randn(w_shape, requires_grad=True)
    results: list[Tensor] = []
    _, forward = only(
        lambda: results.append(CONVOLVE[rank](x, weight, **options)), "aten.convolution"
    )
    _, backward = only(lambda: results[0].sum().backward(), "aten.convolution_backward")
    expected = torch_count(x, weight, rank, options)
    assert (forward.flop_matmul, backward.flop_matmul) == expected
    assert forward.flop_other == backward.flop_other == 0


def test_bias_and_output_mask() -> None:
    x, weight, bias = torch.randn(2, 5, 19), torch.randn(7, 5, 3), torch.randn(7)
    found, cost = only(lambda: F.conv1d(x, weight, bias), "aten.convolution")
    y = found.outputs[0]
    assert cost.flop_other == y.numel()
    op = torch.ops.aten.convolution_backward.default
    flops = {}
    for mask in ([True, True, True], [False, True, False], [True, False, False]):
        args = (y, x, weight, [7], [1], [0], [1], False, [0], 1, mask)
        _, cost = only(lambda args=args: op(*args), "aten.convolution_backward")  # type: ignore[misc]
        flops[tuple(mask)] = (cost.flop_matmul, cost.flop_other, cost.launches)
    one = 2 * 2 * 17 * 7 * 5 * 3
    assert flops == {
        (True, True, True): (2 * one, y.numel(), 3),
        (False, True, False): (one, 0, 1),
        (True, False, False): (one, 0, 1),
    }


LAYERS = [  # x, weight, biased, padding, groups: dense, odd, depthwise, grouped, pointwise, 2-D
    ((2, 32, 50), (48, 32, 3), True, 1, 1), ((3, 24, 37), (8, 24, 4), False, 2, 1),
    ((2, 12, 31), (20, 12, 3), True, 1, 1), ((4, 34, 41), (11, 34, 5), False, 2, 1),
    ((2, 64, 50), (64, 1, 4), True, 3, 64), ((3, 50, 41), (50, 1, 4), False, 3, 50),
    ((2, 32, 30), (64, 8, 2), True, 1, 4), ((1, 64, 60), (64, 1, 4), True, 3, 64),
    ((2, 16, 40), (32, 16, 1), True, 0, 1), ((17, 16, 20), (32, 16, 1), True, 0, 1),
    ((1, 24, 50), (16, 24, 3), True, 1, 1), ((2, 16, 9, 10), (24, 16, 3, 3), True, 1, 1),
]  # fmt: skip


SMALL_DEPTHWISE = [  # x, weight, stride, padding: one thread, in sequence and plane
    ((2, 16, 101), (16, 1, 3), 1, 1), ((1, 12, 101), (12, 1, 3), 1, 1),
    ((2, 16, 101), (16, 1, 2), 1, 1), ((2, 16, 101), (16, 1, 3), 2, 1),
    ((2, 16, 101), (16, 1, 3), 1, 2), ((2, 16, 21, 19), (16, 1, 3, 3), 1, 1),
]  # fmt: skip


def _differentiated(
    x: Tensor, weight: Tensor, bias: Tensor, layer: tuple[Any, ...], grad: Tensor
) -> Run:
    sizes = [len(bias)]
    arguments = (grad, x, weight, sizes, *layer, [True, True, True])
    return Run(torch.ops.aten.convolution_backward.default, arguments)


def test_small_depthwise_kernels_reorder_for_the_weights_gradient() -> None:
    runs = []
    for x_shape, w_shape, stride, padding in SMALL_DEPTHWISE:
        x, weight, bias = torch.randn(x_shape), torch.randn(w_shape), torch.randn(w_shape[0])
        rank = len(x_shape) - 2
        layer = ([stride] * rank, [padding] * rank, [1] * rank, False, [0] * rank, w_shape[0])
        y = torch.ops.aten.convolution.default(x, weight, bias, *layer)
        runs.append(_differentiated(x, weight, bias, layer, torch.randn_like(y)))
    for measured in measure(runs):
        assert measured.scratch_bytes == cost_of(measured.call).scratch_bytes, measured.call


@pytest.mark.parametrize(("w_shape", "groups"), [((24, 16, 3), 1), ((16, 1, 3), 16)])
def test_sequences_that_lie_position_first_are_copied(
    w_shape: tuple[int, ...], groups: int
) -> None:
    x = torch.randn(2, 51, 16).transpose(1, 2)
    weight, bias = torch.randn(w_shape), torch.randn(w_shape[0])
    layer = ([1], [1], [1], False, [0], groups)
    forward = torch.ops.aten.convolution.default
    y = forward(x, weight, bias, *layer)
    grad = torch.randn(2, y.shape[2], y.shape[1]).transpose(1, 2)
    runs = [Run(forward, (x, weight, bias, *layer))]
    runs.append(_differentiated(x, weight, bias, layer, grad))
    for measured in measure(runs):
        assert measured.scratch_bytes == cost_of(measured.call).scratch_bytes, measured.call


def _runs() -> list[Run]:
    """Forward with 1 and 2 threads, backward with 1 (more add buffers of partial sums)."""
    runs = []
    for i, (x_shape, w_shape, biased, padding, groups) in enumerate(LAYERS):
        x, weight = torch.randn(x_shape), torch.randn(w_shape)
        bias = torch.randn(w_shape[0]) if biased else None
        rank = len(x_shape) - 2
        ones, pads, zeros = [1] * rank, [padding] * rank, [0] * rank
        layer = (ones, pads, ones, False, zeros, groups)
        forward = torch.ops.aten.convolution.default
        runs.append(Run(forward, (x, weight, bias, *layer), threads=1 + i % 2))
        grad = torch.randn_like(forward(x, weight, bias, *layer))
        sizes = [w_shape[0]] if biased else None
        backward = torch.ops.aten.convolution_backward.default
        runs.append(Run(backward, (grad, x, weight, sizes, *layer, [True, True, biased])))
    return runs


def test_scratch_is_what_the_allocator_sees() -> None:
    for measured in measure(_runs()):
        expected = bytes_with(cost_of(measured.call).scratch_bytes, measured.run.threads)
        assert measured.scratch_bytes == expected, measured.call


def dense(*shape: Any) -> TensorSpec:
    stride: list[Any] = [1]
    for size in reversed(shape[1:]):
        stride.insert(0, stride[0] * size)
    return TensorSpec(tuple(shape), tuple(stride), "float32")


def causal_depthwise(b: Any, n: Any, d: Any) -> Call:
    args: dict[str, Arg] = {
        "input": dense(b, d, n), "weight": dense(d, 1, 4), "bias": dense(d), "stride": (1,),
        "padding": (3,), "dilation": (1,), "transposed": False, "output_padding": (0,),
        "groups": d,
    }  # fmt: skip
    return Call("aten.convolution.default", args, (dense(b, d, n + 3),))


def test_symbolic_cost_equals_numeric_cost() -> None:
    b, n, d = symbol("b"), symbol("n"), symbol("d")
    symbolic, numeric = cost_of(causal_depthwise(b, n, d)), cost_of(causal_depthwise(2, 50, 64))
    sizes = {"b": 2, "n": 50, "d": 64}
    assert symbolic.flop_matmul == 8 * b * d * (n + 3)
    for name in ("flop_matmul", "flop_other", "bytes_read", "bytes_written", "scratch_bytes"):
        assert as_expr(getattr(symbolic, name)).evaluate(sizes) == getattr(numeric, name), name


def test_cuda_has_no_scratch_of_onednn() -> None:
    call = replace(causal_depthwise(2, 50, 64), backend="cuda")
    assert cost_of(call).scratch_bytes == 0


def test_unknown_attributes_are_named() -> None:
    call = causal_depthwise(2, 50, 64)
    with pytest.raises(DerivationError, match="groups"):
        cost_of(replace(call, args={**call.args, "groups": None}))
