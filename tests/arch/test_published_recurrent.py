"""Recurrent entries against PyTorch's own layers with the same weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from costlab.arch import gru_2014, lstm_1997, registry


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


@pytest.mark.parametrize(
    ("name", "layer"), [("lstm_cell_loop", nn.LSTM), ("gru_cell_loop", nn.GRU)]
)
def test_loops_over_cells_are_the_whole_layers(name: str, layer: type[nn.LSTM | nn.GRU]) -> None:
    module = registry.load(name).build(b=3, n=11, d=7)[0].double()
    theirs = layer(7, 7, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for given, ours in zip(theirs.all_weights[0], module.parameters(), strict=True):
            given.copy_(ours)
    x, leaf = _sequence(), _sequence().requires_grad_()
    y = theirs(x.requires_grad_())[0]
    ours_y = module(leaf)
    torch.testing.assert_close(ours_y, y, rtol=0, atol=1e-12)
    upstream = torch.randn_like(y)
    got = torch.autograd.grad(ours_y, [leaf, *module.parameters()], upstream)
    want = torch.autograd.grad(y, [x, *theirs.all_weights[0]], upstream)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-11)


def test_gru_of_2014_is_torchs_where_reset_and_product_commute() -> None:
    """They do where the candidate's matrix is diagonal and has no bias of its own."""
    module = gru_2014.ResettingGRU(gru_2014.Config(7)).double()
    theirs = nn.GRU(7, 7, batch_first=True, dtype=torch.float64)
    w_input, w_hidden, bias_input, bias_hidden = theirs.all_weights[0]
    core = module.core
    with torch.no_grad():
        core.candidate.weight.copy_(torch.diag(torch.rand(7, dtype=torch.float64)))
        w_input.copy_(module.input.weight)
        w_hidden.copy_(torch.cat((core.gates.weight, core.candidate.weight)))
        bias_input.copy_(module.input.bias)
        bias_hidden.zero_()
    x = _sequence()
    y, last = theirs(x)
    ours, (state,) = module.prefill(x)
    torch.testing.assert_close(ours, y, rtol=0, atol=1e-12)
    torch.testing.assert_close(state, last[0], rtol=0, atol=1e-12)
