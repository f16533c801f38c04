"""What the harness is measured on: small programs with an amount of work that is known."""

from __future__ import annotations

from collections.abc import Callable

import torch

Factory = tuple[Callable[..., object], tuple[torch.Tensor, ...]]


def attention(n: int = 256, d: int = 64) -> Factory:
    """Softmax attention with its scores spelled out."""

    def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.T * d**-0.5, dim=-1) @ v

    return call, (torch.randn(n, d), torch.randn(n, d), torch.randn(n, d))


def rounds(n: int = 100, d: int = 64) -> Factory:
    """``n`` equal products one after the other: 5 % more of them take 5 % longer."""

    def call(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        for _ in range(n):
            x = torch.tanh(x @ w)
        return x

    return call, (torch.randn(128, d), torch.randn(d, d) * d**-0.5)


def ready_attention() -> Callable[[], object]:
    """A call without arguments, for other tools."""
    torch.set_num_threads(1)
    call, inputs = attention()

    def run() -> object:
        with torch.no_grad():
            return call(*inputs)

    return run
