"""Random weights at the speed of copying: large tensors repeat one block of random numbers.

What a pass costs depends on the values of weights at most through routing, for which these are as
good as any; drawing them anew for each of many builds would take longer than all passes together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_BLOCK = 1 << 18


@contextmanager
def repeated_weights() -> Iterator[None]:
    """Within, ``normal_`` and ``uniform_`` fill large tensors with repeated random numbers.

    Mean and spread are those asked for. Small tensors, those of other devices and draws from a
    generator of their own are filled as ever.
    """
    normal, uniform = torch.Tensor.normal_, torch.Tensor.uniform_
    base = {normal: torch.randn(_BLOCK), uniform: torch.rand(_BLOCK)}

    def normally(tensor: Any, mean: float = 0.0, std: float = 1.0, **options: Any) -> Any:
        if options.get("generator") is not None or not _large(tensor):
            return normal(tensor, mean, std, **options)
        return _repeat(tensor, base[normal] * std + mean)

    def uniformly(tensor: Any, low: float = 0.0, high: float = 1.0, **options: Any) -> Any:
        given = {"from": options.pop("from", low), "to": options.pop("to", high)}
        if options.get("generator") is not None or not _large(tensor):
            return uniform(tensor, given["from"], given["to"], **options)
        return _repeat(tensor, base[uniform] * (given["to"] - given["from"]) + given["from"])

    _put(normally, uniformly)
    try:
        yield
    finally:
        _put(normal, uniform)


def _put(normal: Callable[..., Any], uniform: Callable[..., Any]) -> None:
    setattr(torch.Tensor, "normal_", normal)  # noqa: B010
    setattr(torch.Tensor, "uniform_", uniform)  # noqa: B010


def _large(tensor: Any) -> bool:
    return bool(
        tensor.device.type == "cpu"
        and tensor.numel() >= _BLOCK
        and tensor.is_contiguous()
        and tensor.is_floating_point()
    )


def _repeat(tensor: Any, block: torch.Tensor) -> Any:
    with torch.no_grad():
        flat = tensor.view(-1)
        whole = flat.numel() // _BLOCK * _BLOCK
        flat[:whole].view(-1, _BLOCK).copy_(block)
        flat[whole:].copy_(block[: flat.numel() - whole])
    return tensor
