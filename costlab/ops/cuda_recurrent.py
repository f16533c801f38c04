"""cuDNN's recurrent layers, stood in for on the CPU: one operator forward and one backward.

``costlab::cuda_rnn`` takes what ``torch.lstm``, ``torch.gru`` and ``torch.rnn_tanh`` take and runs
all layers and directions. Its fourth output has the place of cuDNN's reserve space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

RNN_MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")  # cuDNN's numbers 0..3
RESERVE_TENSORS = {"rnn_relu": 2, "rnn_tanh": 2, "lstm": 6, "gru": 5}
"""Values kept per step, hidden unit, layer and direction: gates, states, and the GRU's candidate.

An estimate: cuDNN does not publish the size of its reserve space; this is what backward needs.
"""

_ops: Any = torch.ops.costlab
_new_library: Any = torch.library.Library  # torch gives it no types
_LIBRARY = _new_library("costlab", "FRAGMENT")
_LIBRARY.define(
    "cuda_rnn(Tensor input, Tensor[] weight, Tensor hx, Tensor? cx, int mode, int num_layers,"
    " bool has_biases, bool batch_first, float dropout, bool train, bool bidirectional)"
    " -> (Tensor output, Tensor hy, Tensor cy, Tensor reserve)"
)
_LIBRARY.define(
    "cuda_rnn_backward(Tensor input, Tensor[] weight, Tensor hx, Tensor? cx, Tensor output,"
    " Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, int mode, int num_layers,"
    " bool has_biases, bool batch_first, float dropout, bool train, bool bidirectional,"
    " Tensor reserve) -> (Tensor, Tensor, Tensor, Tensor[])"
)


def _run_rnn(
    input: Tensor,
    weight: Sequence[Tensor],
    hx: Tensor,
    cx: Tensor | None,
    mode: int,
    *flags: Any,
) -> tuple[Tensor, ...]:
    """Call torch's own layer; ``flags`` as ``torch.lstm`` takes them after the parameters."""
    layer: Any = getattr(torch.ops.aten, RNN_MODES[mode]).input
    state = hx if cx is None else [hx, cx]
    return tuple(layer(input, state, list(weight), *flags))


def _seeded(dropout: float, seed: int, run: Callable[[], Any]) -> Any:
    """Run with dropout between layers drawn from ``seed``, the global generator untouched."""
    if not dropout:
        return run()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return run()


def rnn_reserve_bytes(mode: str, b: int, n: int, hidden: int, layers: int, itemsize: int) -> int:
    """Size of cuDNN's reserve space in training (an estimate); a direction counts as a layer."""
    return RESERVE_TENSORS[mode] * layers * n * b * hidden * itemsize


def _rnn(
    input: Tensor,
    weight: Sequence[Tensor],
    hx: Tensor,
    cx: Tensor | None,
    mode: int,
    num_layers: int,
    has_biases: bool,
    batch_first: bool,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    dropout = dropout if train else 0.0
    seed = int(torch.randint(2**31, ())) if dropout else 0
    flags = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    output, hy, *rest = _seeded(
        dropout, seed, lambda: _run_rnn(input, weight, hx, cx, mode, *flags)
    )
    # cuDNN writes [n, b, h] whatever the caller's layout.
    if batch_first:
        output = output.transpose(0, 1).contiguous().transpose(0, 1)
    b, n = (input.shape[0], input.shape[1]) if batch_first else (input.shape[1], input.shape[0])
    hidden = (hx if cx is None else cx).shape[2]
    size = rnn_reserve_bytes(RNN_MODES[mode], b, n, hidden, hx.shape[0], input.itemsize)
    reserve = torch.zeros(size if train else 0, dtype=torch.uint8)
    if dropout:
        reserve[:8] = torch.tensor([seed]).view(torch.uint8)
    return output, hy, rest[0] if rest else input.new_empty(0), reserve


def _rnn_backward(
    input: Tensor,
    weight: Sequence[Tensor],
    hx: Tensor,
    cx: Tensor | None,
    output: Tensor,
    grad_output: Tensor | None,
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    mode: int,
    num_layers: int,
    has_biases: bool,
    batch_first: bool,
    dropout: float,
    train: bool,
    bidirectional: bool,
    reserve: Tensor,
) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
    dropout = dropout if train else 0.0
    seed = int(reserve[:8].view(torch.int64)) if dropout else 0
    flags = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    leaves = [
        t.detach().requires_grad_() for t in (input, hx, *([] if cx is None else [cx]), *weight)
    ]

    def differentiate() -> tuple[Tensor, ...]:
        x, h, *others = leaves
        c, parameters = (None, others) if cx is None else (others[0], others[1:])
        results = _seeded(dropout, seed, lambda: _run_rnn(x, parameters, h, c, mode, *flags))
        given = [
            (result, grad)
            for result, grad in zip(results, (grad_output, grad_hy, grad_cy), strict=False)
            if grad is not None
        ]
        return torch.autograd.grad(
            [result for result, _ in given],
            leaves,
            [grad for _, grad in given],
            materialize_grads=True,
        )

    # In this thread autograd is off for as long as an operator runs; a new one starts afresh.
    with ThreadPoolExecutor(1) as pool:
        gradients = pool.submit(differentiate).result()
    grad_x, grad_h, *grads = (g.clone() for g in gradients)
    if cx is None:
        return grad_x, grad_h, input.new_empty(0), grads
    return grad_x, grad_h, grads[0], grads[1:]


def _rnn_context(ctx: Any, inputs: Any, output: Any) -> None:
    input, weight, hx, cx, *ctx.flags = inputs
    y, _, cy, reserve = output
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(input, hx, cx, y, reserve, *weight)
    ctx.mark_non_differentiable(*([reserve] if cx is not None else [cy, reserve]))


def _rnn_autograd(ctx: Any, grad_output: Any, grad_hy: Any, grad_cy: Any, _: Any) -> Any:
    input, hx, cx, output, reserve, *weight = ctx.saved_tensors
    grad_x, grad_h, grad_c, grad_weight = _ops.cuda_rnn_backward(
        input, weight, hx, cx, output, grad_output, grad_hy, grad_cy, *ctx.flags, reserve
    )
    return grad_x, grad_weight, grad_h, None if cx is None else grad_c, *[None] * len(ctx.flags)


_LIBRARY.impl("cuda_rnn", _rnn, "CPU")
_LIBRARY.impl("cuda_rnn_backward", _rnn_backward, "CPU")
torch.library.register_autograd(
    "costlab::cuda_rnn", _rnn_autograd, setup_context=_rnn_context, lib=_LIBRARY
)


def recurrent_layer(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    """A function like ``torch.lstm`` (``name`` "lstm", ...) that runs the stand-in."""
    mode = RNN_MODES.index(name)

    def layer(input: Any, second: Any, *args: Any) -> tuple[Tensor, ...]:
        # torch has a second form for packed sequences: (data, batch_sizes, hx, ...).
        if not isinstance(args[1], bool):
            return tuple(real(input, second, *args))
        weight, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
        hx, cx = second if name == "lstm" else (second, None)
        output, hy, cy, _ = _ops.cuda_rnn(
            input,
            weight,
            hx,
            cx,
            mode,
            num_layers,
            has_biases,
            batch_first,
            dropout,
            train,
            bidirectional,
        )
        return (output, hy, cy) if name == "lstm" else (output, hy)

    return layer
