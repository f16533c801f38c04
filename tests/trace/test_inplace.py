"""What is written in place: as in a run that no mode watches, by the profiler's list of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.profiler import profile

from costlab.sources.program import run, upstream_gradients
from tests.reference import modules13
from tests.trace.programs import Block, names, program, traced

Call = Callable[..., object]
SUMS = ("add", "add_")


def unwatched(call: Call, *inputs: Tensor, mode: str) -> Counter[str]:
    """How often an ordinary run adds, in place and not."""
    made = program(call, *inputs, mode=mode)
    gradients = upstream_gradients(made) if mode == "train" else ()
    with profile() as seen:
        run(made, mode, gradients)
    called = (event.name.removeprefix("aten::") for event in seen.function_events)
    return Counter(name for name in called if name in SUMS)


def watched(call: Call, *inputs: Tensor, mode: str) -> Counter[str]:
    found = traced(call, *inputs, mode=mode)
    return Counter(name for name in names(found.ops) if name in SUMS)


def residual(x: Tensor) -> Tensor:
    y = x.sin()
    return y + y.exp() + y.cos()


def own_sums(x: Tensor) -> Tensor:
    """Sums of the program itself, one with an operand that nothing else holds."""
    return torch.add(x.sin(), x) + (x @ x.mT @ x)


class Recurrent(nn.Module):
    """A weight used at every step: its gradients meet."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        h = x[:, 0]
        for t in range(x.shape[1]):
            h = torch.tanh(self.step(h)) * x[:, t]
        return h


X = torch.randn(2, 5, 6)
PROGRAMS: dict[str, tuple[Call, tuple[Tensor, ...]]] = {
    "residual": (residual, (X,)),
    "own sums": (own_sums, (X,)),
    "recurrent": (Recurrent(), (X,)),
    "block": (Block(6, 9), (X,)),
    "bias, not contiguous": (lambda x: nn.functional.linear(x, torch.eye(6), X[0, 0]),
                             (torch.randn(5, 2, 6).transpose(0, 1),)),
    "bias, kept product": (lambda x: (lambda y: (y + X[0, 0], y))(x.mT @ x), (X,)),
    "gru": modules13.gru(b=2, n=5, d=6),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["forward", "train"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_are_those_of_an_ordinary_run(name: str, mode: str) -> None:
    call, inputs = PROGRAMS[name]
    assert watched(call, *inputs, mode=mode) == unwatched(call, *inputs, mode=mode)


def test_gradients_are_right_where_sums_are_written_in_place() -> None:
    seen: list[Tensor] = []

    def call(x: Tensor) -> Tensor:
        seen.append(x)
        return residual(x)

    traced(call, X, mode="train")
    alone = X.clone().requires_grad_()
    residual(alone).sum().backward()
    assert seen[0].grad is not None
    assert alone.grad is not None
    assert torch.allclose(seen[0].grad, alone.grad)


def test_a_gradient_that_two_parts_still_need_is_left_alone() -> None:
    """The gradient of a sum goes to both sides as one tensor: it is not written over."""

    def call(x: Tensor) -> Tensor:
        return F.relu(x) + x

    found = traced(call, torch.randn(3, 4), mode="train")
    backward = [r for r in found.ops if r.phase == "backward"]
    assert names(backward) == ["threshold_backward", "add"]
