"""One Adam step apart: state and memory are those of Kingma and Ba 2015, algorithm 1."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import costlab
from costlab.arch import registry
from costlab.errors import ModuleError
from costlab.formulas.text import parse
from costlab.ops.adam8 import Adam8
from costlab.sources.program import tensors_of

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


@pytest.mark.parametrize(
    ("mode", "make"),
    [
        ("optimizer-sgd", lambda p: torch.optim.SGD(p, 0.01)),
        ("optimizer-momentum", lambda p: torch.optim.SGD(p, 0.01, momentum=0.9)),
        ("optimizer-adafactor", torch.optim.Adafactor),
    ],
)
def test_states_of_other_optimizers_are_what_torch_keeps(
    mode: str, make: Callable[..., torch.optim.Optimizer]
) -> None:
    module, _ = registry.load("gated_feed_forward").build(b=1, n=1, d=12, f=20)
    optimizer = make(module.parameters())
    for parameter in module.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    kept = sum(t.nbytes for t in tensors_of(tuple(optimizer.state.values())))
    found = costlab.derive("gated_feed_forward", mode=mode)

    assert found.gaps == ()
    state = found.expression("state_bytes") if kept else parse("0")
    assert state.evaluate({"d": 12, "f": 20}) == kept


def test_adam_of_eight_bits_keeps_two_bytes_a_parameter_and_a_scale_a_row() -> None:
    found = costlab.derive("gated_feed_forward", mode="optimizer-adam8")

    rows = parse("2*f + d")
    assert found.gaps == ()
    assert found.expression("state_bytes") == 2 * found.expression("parameters") + 8 * rows


def test_adam_of_eight_bits_goes_where_adam_goes() -> None:
    """Over twenty steps down a slope; where it is flat beside the steepest, bytes tell less."""
    torch.manual_seed(0)
    start, aim = torch.randn(5, 12), torch.randn(5, 12)
    ends = []
    for make in (torch.optim.Adam, Adam8):
        weight = torch.nn.Parameter(start.clone())
        optimizer = make([weight], lr=0.01)
        for _ in range(20):
            optimizer.zero_grad()
            (weight - aim).square().sum().backward()
            optimizer.step()
        ends.append(weight.detach())
    assert (ends[0] - ends[1]).abs().mean() < 0.03 * (ends[0] - start).abs().mean()
