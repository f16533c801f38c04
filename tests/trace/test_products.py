"""Gradients of products: torch's numbers, and the memory that an ordinary run takes for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from costlab.derivation.engine import Run, live_peak
from costlab.trace.products import ordinary_products
from costlab.trace.run import trace
from costlab.trace.tracker import dtype_name
from tests.trace.programs import program, traced
from tests.trace.test_run import profiled_peak

CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "all": lambda x: x.prod(),
    "dim": lambda x: x.prod(1),
    "kept": lambda x: torch.prod(x, -1, keepdim=True),
    "named": lambda x: torch.prod(x, dim=0),
    "cumprod": lambda x: x.cumprod(1),
    "last cumprod": lambda x: torch.cumprod(x, dim=-1),
}


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_torchs(name: str, zeros: int) -> None:
    x = torch.randn(3, 7, 5)
    x.view(-1)[4 : 4 + zeros] = 0
    found = []
    for ordinary in (True, False):
        leaf = x.clone().requires_grad_()
        if ordinary:
            with ordinary_products():
                y = CALLS[name](leaf)
        else:
            y = CALLS[name](leaf)
        y.backward(torch.linspace(1, 2, y.numel()).view(y.shape))
        found.append((y.detach(), leaf.grad))
    torch.testing.assert_close(found[0], found[1])


class Calls(nn.Module):
    def __init__(self, call: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: Tensor) -> Tensor:
        return self.call(x)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "named"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_peak_is_the_allocators(name: str, dtype: torch.dtype) -> None:
    module, x = Calls(CALLS[name]), torch.rand(5, 70, 9, dtype=dtype) + 1
    made = program(module, x, mode="train", dtype=dtype_name(dtype))
    run = Run.of(trace(made, "train", {}), "cpu")
    assert abs(live_peak(run) - profiled_peak(module, (x,), "train", dtype_name(dtype))) <= 64


@pytest.mark.parametrize(
    ("reentrant", "mode"), [(False, "train"), (True, "train"), (True, "forward")]
)
def test_the_generators_state_that_recomputation_keeps_is_alive(reentrant: bool, mode: str) -> None:
    layer = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
    first = nn.Linear(16, 16)

    def call(x: Tensor) -> Tensor:
        y: Tensor = checkpoint(
            layer, checkpoint(layer, first(x), use_reentrant=reentrant), use_reentrant=reentrant
        )
        return y

    module = nn.Sequential(first, layer)
    module.forward = call  # type: ignore[method-assign]
    x = torch.randn(50, 16)
    found = max(traced(module, x, mode=mode).live_bytes())
    assert abs(found - profiled_peak(module, (x,), mode)) <= 64
