"""Recurrent layers as one operator: oneDNN LSTM, cuDNN RNN, LSTM and GRU, and fused cells.

A weight matrix is applied once per step to every sequence of the batch, 2 FLOP per weight, so a
layer's forward FLOP are ``2 * b * n * (weights)``. Backward is twice that (gradient of the input
and of the weights) less the gradient of the initial state through the recurrent weights, which a
layer inside a network has no use for: then an LSTM's training step of width d costs
``8 * b * d**2 * (6 * n - 1)``, as torch's counter finds for the same program unfused. Pointwise
work per step and hidden unit is in :data:`CELLS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from costlab.algebra import Size, exact_div, simplest, total
from costlab.errors import DerivationError
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, opaque_output, read_bytes, rule, written_bytes
from costlab.rules.layout import copy_bytes
from costlab.rules.onednn import (
    lstm_backward_scratch_bytes,
    lstm_forward_scratch_bytes,
    mkldnn_lstm_workspace_bytes,
)


@dataclass(frozen=True, slots=True)
class Cell:
    """Gates of a cell and its pointwise operations per step and hidden unit, biases apart."""

    gates: int
    forward: int
    backward: int


CELLS: Mapping[str, Cell] = {
    "lstm": Cell(gates=4, forward=9, backward=24),
    "gru": Cell(gates=3, forward=10, backward=17),
    "rnn_tanh": Cell(gates=1, forward=2, backward=4),
    "rnn_relu": Cell(gates=1, forward=2, backward=2),
}
TORCH_MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")  # torch's and cuDNN's numbers 0..3


@dataclass(frozen=True, slots=True)
class _Layers:
    """The layers of one call: batch b, steps n, matrices as (input, recurrent, ...) per layer."""

    cell: Cell
    b: Size
    n: Size
    layers: tuple[tuple[TensorSpec, ...], ...]
    in_sequence: int
    biased: bool

    @property
    def weights(self) -> Size:
        return total(w.numel for layer in self.layers for w in layer)

    @property
    def hidden_units(self) -> Size:
        rows = total(layer[0].shape[0] for layer in self.layers)
        return simplest(exact_div(rows, self.cell.gates))

    @property
    def recurrent_weights(self) -> Size:
        return total(layer[1].numel for layer in self.layers)


def _layers(
    call: Call, mode: str, input_shape: tuple[Size, ...], weights: tuple[TensorSpec, ...]
) -> _Layers:
    """Group ``weights`` (as torch lists them) by layer and direction."""
    matrices = tuple(w for w in weights if len(w.shape) == 2)
    in_sequence = call.args.get("num_layers", 1)
    if not isinstance(in_sequence, int):
        raise DerivationError("the number of layers must be a plain integer", operator=call.op)
    count = in_sequence * (2 if call.args.get("bidirectional") else 1)
    per_layer = len(matrices) // count
    batch_first = bool(call.args.get("batch_first"))
    b, n = (input_shape[0], input_shape[1]) if batch_first else (input_shape[1], input_shape[0])
    grouped = tuple(matrices[i : i + per_layer] for i in range(0, len(matrices), per_layer))
    return _Layers(CELLS[mode], b, n, grouped, in_sequence, len(matrices) < len(weights))


def _cost(call: Call, layers: _Layers, *, backward: bool, scratch: Size = 0) -> Cost:
    b, n, cell = layers.b, layers.n, layers.cell
    forward = 2 * b * n * layers.weights
    matmul = 2 * forward - 2 * b * layers.recurrent_weights if backward else forward
    per_unit = (cell.backward if backward else cell.forward) + cell.gates * int(layers.biased)
    return Cost(
        kind="recurrent",
        flop_matmul=matmul,
        flop_other=b * n * layers.hidden_units * per_unit,
        bytes_read=read_bytes(call),
        bytes_written=written_bytes(call),
        scratch_bytes=scratch,
        steps=n * layers.in_sequence,
    )


def _tensor_list(call: Call, name: str) -> tuple[TensorSpec, ...]:
    value = call.args[name]
    items = value if isinstance(value, tuple) else (value,)
    return tuple(item for item in items if isinstance(item, TensorSpec))


# -- oneDNN: one call per layer and direction, input always [n, b, d] ----------------------------


def _onednn_layer(call: Call, weight_names: tuple[str, ...]) -> _Layers:
    mode = call.args["mode"]
    if not isinstance(mode, int):
        raise DerivationError("the cell of the layer is unknown", operator=call.op)
    weights = tuple(call.tensor(name) for name in weight_names)
    n, b, _ = call.tensor("input").shape
    biased = bool(call.args["has_biases"])
    return _Layers(CELLS[TORCH_MODES[mode]], b, n, (weights[:2],), 1, biased)


def _onednn_sizes(call: Call) -> tuple[Size, Size, Size, Size]:
    n, b, d = call.tensor("input").shape
    return b, n, d, call.tensor("hx_").shape[-1]


@rule("aten.mkldnn_rnn_layer")
def onednn_layer(call: Call) -> Cost:
    """Training is told by the fourth output, the workspace."""
    layers = _onednn_layer(call, ("weight0", "weight1", "weight2", "weight3"))
    train = len(call.outs) > 3
    scratch = lstm_forward_scratch_bytes(*_onednn_sizes(call), train=train)
    return _cost(call, layers, backward=False, scratch=scratch)


@opaque_output("aten.mkldnn_rnn_layer", 3)
def onednn_workspace(call: Call) -> Size | None:
    """What the backward call needs of the forward one, in bytes."""
    return mkldnn_lstm_workspace_bytes(*_onednn_sizes(call), train=bool(call.args["train"]))


@rule("aten.mkldnn_rnn_layer_backward")
def onednn_layer_backward(call: Call) -> Cost:
    """A gradient that is not given is made of zeros, one that is not contiguous is copied."""
    layers = _onednn_layer(call, ("weight1", "weight2", "weight3", "weight4"))
    scratch = lstm_backward_scratch_bytes(*_onednn_sizes(call))
    for gradient, like in (("grad_output", "output"), ("grad_hy", "hx_"), ("grad_cy", "cx_tmp")):
        given = call.has(gradient)
        scratch = scratch + (
            copy_bytes(call.tensor(gradient)) if given else call.tensor(like).nbytes
        )
    return _cost(call, layers, backward=True, scratch=scratch)


# -- whole modules --------------------------------------------------------------------------------


def _whole(call: Call) -> _Layers:
    mode = call.op.split(".")[1]
    return _layers(call, mode, call.tensor("input").shape, _tensor_list(call, "params"))


@rule("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input")
def whole_layer(call: Call) -> Cost:
    """All layers and directions of an nn.LSTM, nn.GRU or nn.RNN in one operator."""
    return _cost(call, _whole(call), backward=False)


def _cudnn(call: Call) -> _Layers:
    mode = call.args["mode"]
    name = TORCH_MODES[mode] if isinstance(mode, int) else str(mode)
    return _layers(call, name, call.tensor("input").shape, _tensor_list(call, "weight"))


def _time_first_copies(call: Call, *names: str) -> Size:
    """cuDNN takes contiguous [n, b, d]; its own workspace is not published and left out."""
    order = (1, 0, 2) if call.args.get("batch_first") else (0, 1, 2)
    return total(copy_bytes(call.tensor(name), order) for name in names if call.has(name))


@rule("aten._cudnn_rnn", "costlab.cuda_rnn")
def cudnn(call: Call) -> Cost:
    return _cost(call, _cudnn(call), backward=False, scratch=_time_first_copies(call, "input"))


@rule("aten._cudnn_rnn_backward", "costlab.cuda_rnn_backward")
def cudnn_backward(call: Call) -> Cost:
    scratch = _time_first_copies(call, "input", "output", "grad_output")
    return _cost(call, _cudnn(call), backward=True, scratch=scratch)


# -- cells: pointwise parts of one step, the matrix products are operators of their own ----------


def _cell_cost(call: Call, units: Size, per_unit: int) -> Cost:
    return Cost(
        kind="elementwise",
        flop_other=units * per_unit,
        bytes_read=read_bytes(call),
        bytes_written=written_bytes(call),
    )


@rule("aten._thnn_fused_lstm_cell", "costlab.cuda_lstm_cell")
def lstm_cell(call: Call) -> Cost:
    """Add input and hidden gates (and both biases), then the cell."""
    added = 4 * (1 + 2 * int(call.has("input_bias")))
    return _cell_cost(call, call.tensor("cx").numel, CELLS["lstm"].forward + added)


@rule(
    "aten._thnn_fused_lstm_cell_backward",
    "aten._thnn_fused_lstm_cell_backward_impl",
    "costlab.cuda_lstm_cell_backward",
)
def lstm_cell_backward(call: Call) -> Cost:
    biases = 4 * int(bool(call.args["has_bias"]))
    return _cell_cost(call, call.tensor("cx").numel, CELLS["lstm"].backward + biases)


@rule("aten._thnn_fused_gru_cell", "costlab.cuda_gru_cell")
def gru_cell(call: Call) -> Cost:
    added = 6 * int(call.has("input_bias"))
    return _cell_cost(call, call.tensor("hx").numel, CELLS["gru"].forward + added)


@rule("aten._thnn_fused_gru_cell_backward", "costlab.cuda_gru_cell_backward")
def gru_cell_backward(call: Call) -> Cost:
    biases = 6 * int(bool(call.args["has_bias"]))
    return _cell_cost(call, call.tensor("grad_hy").numel, CELLS["gru"].backward + biases)
