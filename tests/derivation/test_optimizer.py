"""One Adam step apart: state and memory are those of Kingma and Ba 2015, algorithm 1."""

from __future__ import annotations

import pytest
import torch

import costlab
from costlab.errors import ModuleError
from costlab.formulas.text import parse

FLOAT = 4
TENSORS_PER_LAYER = 10


def test_adam_keeps_two_moments_and_a_step_count() -> None:
    found = costlab.derive("transformer_block", mode="optimizer", prove=False)
    parameters, state = found.expression("parameters"), found.expression("state_bytes")

    assert state == 2 * FLOAT * parameters + FLOAT * TENSORS_PER_LAYER * parse("L")
    assert found.rerolled == ("L",)
    assert found.gaps == ()


def test_state_is_what_torch_keeps() -> None:
    module = torch.nn.LSTM(7, 7)
    adam = torch.optim.Adam(module.parameters())
    for parameter in module.parameters():
        parameter.grad = torch.ones_like(parameter)
    adam.step()
    kept = sum(t.nbytes for state in adam.state.values() for t in state.values())

    assert costlab.derive("lstm", mode="optimizer").evaluate("state_bytes", d=7) == {
        "state_bytes": kept
    }


def test_a_module_without_parameters() -> None:
    def softmax(*, n: int = 4) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
        return torch.nn.Softmax(-1), (torch.randn(n),)

    with pytest.raises(ModuleError, match="parameters"):
        costlab.derive(softmax, mode="optimizer")
