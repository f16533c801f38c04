"""CUDA's recurrent cells, stood in for on the CPU: two products, then one fused operator.

``costlab::cuda_lstm_cell`` and ``costlab::cuda_gru_cell`` take what torch's
``_thnn_fused_lstm_cell`` and ``_thnn_fused_gru_cell`` take and keep what those keep, the gates'
inputs too: autograd saves them for a second derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_ops: Any = torch.ops.costlab
_new_library: Any = torch.library.Library  # torch gives it no types
_register_fake: Any = torch.library.register_fake
_LIBRARY = _new_library("costlab", "FRAGMENT")
_LIBRARY.define(
    "cuda_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias,"
    " Tensor? hidden_bias) -> (Tensor, Tensor, Tensor)"
)
_LIBRARY.define(
    "cuda_lstm_cell_backward(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy,"
    " Tensor workspace, bool has_bias) -> (Tensor, Tensor, Tensor)"
)
_LIBRARY.define(
    "cuda_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias,"
    " Tensor? hidden_bias) -> (Tensor, Tensor)"
)
_LIBRARY.define(
    "cuda_gru_cell_backward(Tensor grad_hy, Tensor workspace, bool has_bias)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)


def _lstm(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    gates = input_gates + hidden_gates
    if input_bias is not None and hidden_bias is not None:
        gates = gates + input_bias + hidden_bias
    admit, keep, candidate, show = gates.chunk(4, dim=1)
    workspace = torch.cat((admit.sigmoid(), keep.sigmoid(), candidate.tanh(), show.sigmoid()), 1)
    admit, keep, candidate, show = workspace.chunk(4, dim=1)
    cy = keep * cx + admit * candidate
    return show * cy.tanh(), cy, workspace


def _lstm_backward(
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    cx: Tensor,
    cy: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    admit, keep, candidate, show = workspace.chunk(4, dim=1)
    grad_h = torch.zeros_like(cx) if grad_hy is None else grad_hy
    seen = cy.tanh()
    grad_c = grad_h * show * (1 - seen**2)
    if grad_cy is not None:
        grad_c = grad_c + grad_cy
    gates = (
        grad_c * candidate * admit * (1 - admit),
        grad_c * cx * keep * (1 - keep),
        grad_c * admit * (1 - candidate**2),
        grad_h * seen * show * (1 - show),
    )
    grad_gates = torch.cat(gates, dim=1)
    bias = grad_gates.sum(0) if has_bias else grad_gates.new_empty(0)
    return grad_gates, grad_c * keep, bias


def _gru(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
) -> tuple[Tensor, Tensor]:
    if input_bias is not None and hidden_bias is not None:
        input_gates, hidden_gates = input_gates + input_bias, hidden_gates + hidden_bias
    from_input, recurrent = input_gates.chunk(3, dim=1), hidden_gates.chunk(3, dim=1)
    reset = (from_input[0] + recurrent[0]).sigmoid()
    update = (from_input[1] + recurrent[1]).sigmoid()
    candidate = (from_input[2] + reset * recurrent[2]).tanh()
    hy = candidate + update * (hx - candidate)
    return hy, torch.cat((reset, update, candidate, hx, recurrent[2]), dim=1)


def _gru_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    reset, update, candidate, hx, recurrent = workspace.chunk(5, dim=1)
    inner = grad_hy * (1 - update) * (1 - candidate**2)
    grad_reset = inner * recurrent * reset * (1 - reset)
    grad_update = grad_hy * (hx - candidate) * update * (1 - update)
    grad_input = torch.cat((grad_reset, grad_update, inner), dim=1)
    grad_hidden = torch.cat((grad_reset, grad_update, inner * reset), dim=1)
    biases = (
        (grad_input.sum(0), grad_hidden.sum(0))
        if has_bias
        else (grad_input.new_empty(0), grad_input.new_empty(0))
    )
    return grad_input, grad_hidden, grad_hy * update, *biases


def _lstm_context(ctx: Any, inputs: Any, output: Any) -> None:
    input_gates, hidden_gates, cx, *biases = inputs
    _, cy, workspace = output
    ctx.set_materialize_grads(False)
    ctx.has_bias = biases[0] is not None
    ctx.save_for_backward(cx, cy, workspace, input_gates, hidden_gates, *biases)
    ctx.mark_non_differentiable(workspace)


def _lstm_autograd(ctx: Any, grad_hy: Tensor | None, grad_cy: Tensor | None, _: Any) -> Any:
    cx, cy, workspace, *_others = ctx.saved_tensors
    gates, grad_cx, bias = _ops.cuda_lstm_cell_backward(
        grad_hy, grad_cy, cx, cy, workspace, ctx.has_bias
    )
    return gates, gates, grad_cx, *([bias, bias] if ctx.has_bias else [None, None])


def _gru_context(ctx: Any, inputs: Any, output: Any) -> None:
    input_gates, hidden_gates, hx, *biases = inputs
    _, workspace = output
    ctx.has_bias = biases[0] is not None
    ctx.save_for_backward(workspace, input_gates, hidden_gates, hx, *biases)
    ctx.mark_non_differentiable(workspace)


def _gru_autograd(ctx: Any, grad_hy: Tensor, _: Any) -> Any:
    workspace = ctx.saved_tensors[0]
    given, recurrent, grad_hx, *biases = _ops.cuda_gru_cell_backward(
        grad_hy, workspace, ctx.has_bias
    )
    return given, recurrent, grad_hx, *(biases if ctx.has_bias else [None, None])


for _name, _run, _context, _autograd in (
    ("lstm", _lstm, _lstm_context, _lstm_autograd),
    ("gru", _gru, _gru_context, _gru_autograd),
):
    _LIBRARY.impl(f"cuda_{_name}_cell", _run, "CPU")
    torch.library.register_autograd(
        f"costlab::cuda_{_name}_cell", _autograd, setup_context=_context, lib=_LIBRARY
    )
    _register_fake(f"costlab::cuda_{_name}_cell", _run, lib=_LIBRARY)
for _name, _backward in (("lstm", _lstm_backward), ("gru", _gru_backward)):
    _LIBRARY.impl(f"cuda_{_name}_cell_backward", _backward, "CPU")
    _register_fake(f"costlab::cuda_{_name}_cell_backward", _backward, lib=_LIBRARY)


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """A function like ``torch.lstm_cell`` as it runs on CUDA."""
    hidden, memory = hx
    hy, cy, _ = _ops.cuda_lstm_cell(input @ w_ih.t(), hidden @ w_hh.t(), memory, b_ih, b_hh)
    return hy, cy


def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """A function like ``torch.gru_cell`` as it runs on CUDA."""
    hy: Tensor = _ops.cuda_gru_cell(input @ w_ih.t(), hx @ w_hh.t(), hx, b_ih, b_hh)[0]
    return hy


CELLS: dict[str, Callable[..., Any]] = {"lstm_cell": lstm_cell, "gru_cell": gru_cell}
