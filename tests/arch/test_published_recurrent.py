"""Recurrent entries against PyTorch's own layers with the same weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from costlab.arch import lstm_1997


def _sequence() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(3, 11, 7, dtype=torch.float64)


def test_lstm_of_1997_is_an_lstm_that_never_forgets() -> None:
    """A forget gate's bias of 100 makes it 1 to the last bit."""
    module = lstm_1997.AddingLSTM(lstm_1997.Config(7)).double()
    theirs = nn.LSTM(7, 7, batch_first=True, dtype=torch.float64)
    parts = (module.input.weight, module.core.recurrent.weight, module.input.bias)
    w_input, w_hidden, bias_input, bias_hidden = theirs.all_weights[0]
    with torch.no_grad():
        for given, ours in zip((w_input, w_hidden, bias_input), parts, strict=True):
            admit, show, candidate = ours.chunk(3)
            given.copy_(torch.cat((admit, torch.zeros_like(admit), candidate, show)))
        bias_input[7:14] = 100.0
        bias_hidden.zero_()
    x = _sequence()
    y, (hidden, memory) = theirs(x)
    ours_y, state = module.prefill(x)
    torch.testing.assert_close(ours_y, y, rtol=0, atol=1e-12)
    torch.testing.assert_close(state, (hidden[0], memory[0]), rtol=0, atol=1e-12)
