"""Recurrent operators: FLOP against torch's counter on meta, oneDNN memory against the profiler."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from costlab.algebra import as_expr, symbol
from costlab.graph import Arg, Call, TensorSpec
from costlab.rules.base import Cost, find_rule
from costlab.rules.onednn import leading_dimension, mkldnn_lstm_workspace_bytes
from tests.rules.allocations import Run, bytes_with, measure
from tests.rules.recorder import cost_of, record, spec

FORWARD = torch.ops.aten.mkldnn_rnn_layer.default
BACKWARD = torch.ops.aten.mkldnn_rnn_layer_backward.default


def counted_on_meta(module: nn.Module, *shape: int, train: bool) -> int:
    """What torch counts for the unfused program; the input wants a gradient, the state does not."""
    module = module.to("meta")
    x = torch.randn(*shape, device="meta", requires_grad=train)
    counter = FlopCounterMode(display=False)
    with counter, torch.set_grad_enabled(train):
        y, _ = module(x)
        if train:
            y.sum().backward()
    return counter.get_total_flops()


def rnn_costs(run: Any) -> list[Cost]:
    return [cost_of(r.call) for r in record(run) if "rnn" in r.call.op]


@pytest.mark.parametrize(
    ("d", "hidden", "options"),
    [
        (5, 5, {}),
        (6, 9, {"batch_first": True}),
        (7, 4, {"num_layers": 2, "bidirectional": True}),
        (5, 3, {"bias": False}),
    ],
)
def test_lstm_flop_on_cpu_is_that_of_the_unfused_program(
    d: int, hidden: int, options: dict[str, Any]
) -> None:
    lstm = nn.LSTM(d, hidden, **options)
    x = torch.randn(3, 7, d, requires_grad=True)
    with torch.no_grad():
        forward = sum(c.flop_matmul for c in rnn_costs(lambda: lstm(x)))
    train = sum(c.flop_matmul for c in rnn_costs(lambda: lstm(x)[0].sum().backward()))
    assert forward == counted_on_meta(nn.LSTM(d, hidden, **options), 3, 7, d, train=False)
    assert train == counted_on_meta(nn.LSTM(d, hidden, **options), 3, 7, d, train=True)


def test_lstm_training_formula() -> None:
    lstm, x = nn.LSTM(6, 6), torch.randn(11, 3, 6, requires_grad=True)
    train = sum(c.flop_matmul for c in rnn_costs(lambda: lstm(x)[0].sum().backward()))
    assert train == 8 * 3 * 6**2 * (6 * 11 - 1)


def cudnn_call(module: nn.RNNBase, shape: tuple[int, int, int], op: str, mode: Arg) -> Call:
    """The call that cuDNN would get for ``module`` on an input of ``shape``."""
    weights = tuple(spec(p) for p in module.parameters())
    args: dict[str, Arg] = {
        "input": spec(torch.empty(shape)),
        "weight": weights,
        "mode": mode,
        "num_layers": module.num_layers,
        "bidirectional": module.bidirectional,
        "batch_first": module.batch_first,
    }
    return Call(op, args, (), backend="cuda")


@pytest.mark.parametrize(
    ("kind", "mode", "number", "options"),
    [
        (nn.RNN, "rnn_tanh", 1, {}),
        (nn.GRU, "gru", 3, {"num_layers": 3, "batch_first": True}),
        (nn.GRU, "gru", 3, {"bidirectional": True, "bias": False}),
        (nn.LSTM, "lstm", 2, {"num_layers": 2, "bidirectional": True}),
        (nn.LSTM, "lstm", 2, {"proj_size": 3, "num_layers": 2}),
    ],
)
def test_cudnn_flop_is_that_of_the_unfused_program(
    kind: Any, mode: str, number: int, options: dict[str, Any]
) -> None:
    shape = (3, 7, 6)
    module = kind(6, 5, **options)
    total = {}
    for op in ("aten._cudnn_rnn", "aten._cudnn_rnn_backward"):
        by_number = cost_of(cudnn_call(module, shape, f"{op}.default", number))
        assert by_number == cost_of(cudnn_call(module, shape, f"{op}.default", mode))
        total[op] = by_number.flop_matmul
    forward = counted_on_meta(kind(6, 5, **options), *shape, train=False)
    assert total["aten._cudnn_rnn"] == forward
    train = counted_on_meta(kind(6, 5, **options), *shape, train=True)
    assert sum(total.values()) == train


def test_steps_wait_for_each_other_along_time_and_layers_but_not_directions() -> None:
    module = nn.LSTM(6, 5, num_layers=3, bidirectional=True)
    call = cudnn_call(module, (7, 2, 6), "aten._cudnn_rnn.default", "lstm")
    assert cost_of(call).steps == 7 * 3


def test_a_whole_layer_counts_like_its_cudnn_call() -> None:
    module = nn.GRU(6, 5, num_layers=2, batch_first=True)
    cudnn = cudnn_call(module, (3, 7, 6), "aten._cudnn_rnn.default", "gru")
    args = dict(cudnn.args)
    args["params"] = args.pop("weight")
    whole = cost_of(Call("aten.gru.input", args, ()))
    assert (whole.flop_matmul, whole.flop_other) == (
        cost_of(cudnn).flop_matmul,
        cost_of(cudnn).flop_other,
    )


@pytest.mark.parametrize(
    ("op", "args", "units", "per_unit"),
    [
        ("_thnn_fused_lstm_cell", {"cx": (3, 5), "input_bias": (20,)}, 15, 9 + 12),
        ("_thnn_fused_lstm_cell", {"cx": (3, 5)}, 15, 9 + 4),
        ("_thnn_fused_lstm_cell_backward", {"cx": (3, 5), "has_bias": True}, 15, 24 + 4),
        ("_thnn_fused_gru_cell", {"hx": (3, 5), "input_bias": (15,)}, 15, 10 + 6),
        ("_thnn_fused_gru_cell_backward", {"grad_hy": (3, 5), "has_bias": False}, 15, 17),
    ],
)
def test_fused_cells_are_pointwise(
    op: str, args: dict[str, Any], units: int, per_unit: int
) -> None:
    specs: dict[str, Arg] = {
        name: spec(torch.empty(value)) if isinstance(value, tuple) else value
        for name, value in args.items()
    }
    cost = cost_of(Call(f"aten.{op}.default", specs, ()))
    assert cost.flop_matmul == 0
    assert cost.flop_other == units * per_unit


@given(st.integers(1, 3000))
def test_leading_dimension_is_whole_lines_and_never_a_multiple_of_256(columns: int) -> None:
    row = leading_dimension(columns)
    assert isinstance(row, int)
    assert columns <= row <= columns + 31
    assert row % 16 == 0
    assert row % 256 != 0
    symbolic = as_expr(leading_dimension(symbol("d"))).evaluate({"d": columns})
    assert symbolic == row


SIZES = [  # b, n, d, hidden; whole lines, multiples of 256, b around 1 and 128, odd ones
    (2, 3, 5, 7), (32, 16, 64, 64), (8, 20, 48, 96), (130, 5, 20, 33), (127, 3, 16, 16),
    (4, 10, 300, 40), (5, 9, 40, 300), (64, 4, 256, 256), (16, 7, 128, 64), (7, 12, 255, 257),
    (1, 12, 32, 16), (3, 1, 24, 24),
]  # fmt: skip


def _runs() -> list[Run]:
    """Inference, training and backward of each size, alternately with 1 and 2 threads."""
    runs = []
    for i, (b, n, d, hidden) in enumerate(SIZES):
        count = 1 + i % 2
        x, state = torch.randn(n, b, d), (torch.zeros(b, hidden), torch.zeros(b, hidden))
        gates = 4 * hidden
        weights = (torch.randn(gates, d), torch.randn(gates, hidden))
        biases = (torch.randn(gates), torch.randn(gates))
        flags: tuple[Any, ...] = (i % 3 == 2, [], 2, hidden, 1, True, False, False, True)
        inputs = (x, *weights, *biases, *state)
        y, h, c, workspace = FORWARD(*inputs, *flags)
        batch_major = torch.randn(b, n, hidden).transpose(0, 1)
        grad = batch_major if i % 4 == 1 else torch.randn(n, b, hidden)
        grad_h = torch.randn(b, hidden) if i % 5 == 0 else None
        runs.append(Run(FORWARD, (*inputs, *flags), threads=count))
        runs.append(Run(FORWARD, (*inputs, *flags), threads=count, grad=True))
        backward = (*inputs, y, h, c, grad, grad_h, None, flags[0], 2, hidden, 1, True, True)
        runs.append(Run(BACKWARD, (*backward, False, [], False, workspace), threads=count))
    return runs


def test_onednn_memory_is_what_the_allocator_sees() -> None:
    """Scratch of every call and the size of the workspace, to the byte (float32)."""
    seen = 0
    for measured in measure(_runs()):
        cost = cost_of(measured.call)
        expected = bytes_with(cost.scratch_bytes, measured.run.threads)
        assert measured.scratch_bytes == expected, measured.call
        if measured.run.grad:
            n, b, d = measured.run.args[0].shape
            hidden = measured.run.args[5].shape[1]
            workspace = measured.result[3]
            assert workspace.numel() == mkldnn_lstm_workspace_bytes(b, n, d, hidden, train=True)
            seen += 1
    assert seen == len(SIZES)
    assert mkldnn_lstm_workspace_bytes(2, 3, 4, 5, train=False) == 0


def test_symbolic_lstm_equals_numeric_lstm() -> None:
    sizes = {"b": 5, "n": 9, "d": 24, "H": 64, "threads": 2}
    b, n, d, hidden = (symbol(name) for name in ("b", "n", "d", "H"))

    def of(b: Any, n: Any, d: Any, hidden: Any, *, train: bool) -> Cost:
        def dense(*shape: Any) -> TensorSpec:
            stride = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
            return TensorSpec(shape, stride, "float32")

        args: dict[str, Arg] = {
            "input": dense(n, b, d), "weight0": dense(4 * hidden, d),
            "weight1": dense(4 * hidden, hidden), "weight2": dense(4 * hidden),
            "weight3": dense(4 * hidden), "hx_": dense(b, hidden), "cx_": dense(b, hidden),
            "mode": 2, "has_biases": True,
        }  # fmt: skip
        rule = find_rule(str(FORWARD))
        assert rule is not None
        outs = (dense(n, b, hidden), dense(b, hidden), dense(b, hidden), dense(1))
        return rule(Call(str(FORWARD), args, outs[: 3 + train]))

    for train in (False, True):
        symbolic, numeric = of(b, n, d, hidden, train=train), of(5, 9, 24, 64, train=train)
        for name in ("flop_matmul", "flop_other", "bytes_read", "scratch_bytes", "steps"):
            expected = as_expr(getattr(numeric, name)).evaluate(sizes)
            assert as_expr(getattr(symbolic, name)).evaluate(sizes) == expected, name
