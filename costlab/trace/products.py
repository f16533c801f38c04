"""Gradients of products as an ordinary run computes them.

While a dispatch mode is active torch takes them another way, which never asks for values. The
usual way looks for zeros first, and divides by the numbers where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor

_PROD, _CUMPROD = torch.prod, torch.cumprod


@contextmanager
def ordinary_products() -> Iterator[None]:
    """Within this context ``prod`` and ``cumprod`` have the gradients of ordinary runs."""
    replaced = {"prod": _differentiated(_PROD, _Prod), "cumprod": _differentiated(_CUMPROD, _Scan)}
    with (
        mock.patch.object(torch, "prod", replaced["prod"]),
        mock.patch.object(torch, "cumprod", replaced["cumprod"]),
        mock.patch.object(Tensor, "prod", replaced["prod"]),
        mock.patch.object(Tensor, "cumprod", replaced["cumprod"]),
    ):
        yield


def _differentiated(
    real: Callable[..., Tensor], function: type[torch.autograd.Function]
) -> Callable[..., Tensor]:
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        usual = torch.is_grad_enabled() and input.requires_grad and input.dim() > 0
        if not usual or input.is_complex() or not kwargs.keys() <= {"dim", "keepdim"}:
            return real(input, *args, **kwargs)
        dim = args[0] if args else kwargs.get("dim")
        keepdim = args[1] if len(args) > 1 else kwargs.get("keepdim", False)
        apply: Any = function.apply
        result: Tensor = apply(input, dim, keepdim)
        return result

    return call


class _Prod(torch.autograd.Function):
    """torch's ``prod_backward`` (FunctionsManual.cpp)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
        result = _PROD(x) if dim is None else _PROD(x, dim, keepdim)
        ctx.save_for_backward(x, result)
        ctx.dim, ctx.keepdim = dim, keepdim
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, result = ctx.saved_tensors
        if ctx.dim is None:
            zeros = (x == 0).nonzero()
            if zeros.shape[0] == 0:
                return grad * (result / x), None, None
        else:
            if not ctx.keepdim and x.dim() != 1:
                grad, result = grad.unsqueeze(ctx.dim), result.unsqueeze(ctx.dim)
            zeros = x == 0
            count = zeros.sum(ctx.dim, keepdim=True)
            if int(count.sum()) == 0:
                return grad * (result / x), None, None
        return _with_zeros(_PROD, x, grad.reshape(()) if ctx.dim is None else grad, ctx.dim)


class _Scan(torch.autograd.Function):
    """torch's ``cumprod_backward`` (FunctionsManual.cpp)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, _: bool) -> Tensor:
        result = _CUMPROD(x, dim)
        ctx.save_for_backward(x, result)
        ctx.dim = dim
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, result = ctx.saved_tensors
        if x.numel() <= 1 or x.shape[ctx.dim] == 1:
            return grad, None, None
        weighted = result * grad
        zeros = x == 0
        if not bool(zeros.any()):
            return _reversed_cumsum(weighted, ctx.dim).div(x), None, None
        return _with_zeros(_CUMPROD, x, grad, ctx.dim)


def _reversed_cumsum(x: Tensor, dim: int) -> Tensor:
    # In C++ both temporaries live to the end of the statement.
    flipped = x.flip(dim)
    summed = flipped.cumsum(dim)
    return summed.flip(dim)


def _with_zeros(
    real: Callable[..., Tensor], x: Tensor, grad: Tensor, dim: int | None
) -> tuple[Tensor | None, ...]:
    """The gradient where numbers are 0: torch's, by the way it takes under a mode."""
    with torch.enable_grad():
        again = x.detach().requires_grad_()
        if dim is None:
            y = real(again)
        elif real is _PROD:
            y = real(again, dim, True)
        else:
            y = real(again, dim)
    (found,) = torch.autograd.grad(y, again, grad.reshape(y.shape))
    return found, None, None
