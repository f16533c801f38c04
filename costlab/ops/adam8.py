"""Adam with moments of 8 bits.

Dettmers et al. 2021, "8-bit optimizers via block-wise quantization", https://arxiv.org/abs/2110.02861,
with two simplifications: a block with a scale of its own is a row of the parameter instead of 2048
values, and levels are evenly spaced, of the second moment's root.

Of each parameter ``[..., d]`` two moments ``[..., d]`` of a byte and their scales ``[..., 1]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_LEVELS = 127
_LEAST = 1e-12


def quantised(values: Tensor) -> tuple[Tensor, Tensor]:
    """Integers of a byte and a scale for each row; the largest of a row is met exactly."""
    scale = values.abs().amax(-1, keepdim=True).div_(_LEVELS).clamp_(min=_LEAST)
    return (values / scale).round_().to(torch.int8), scale


class Adam8(torch.optim.Optimizer):
    """Adam as torch's, one parameter after the other; its state is held in bytes between steps."""

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        first, second = group["betas"]
        if not state:
            for name in ("mean", "root"):
                state[name], state[f"{name}_scale"] = quantised(torch.zeros_like(parameter))
            state["step"] = 0
        state["step"] += 1
        mean = state["mean"].to(parameter.dtype).mul_(state["mean_scale"])
        mean.lerp_(gradient, 1 - first)
        state["mean"], state["mean_scale"] = quantised(mean)
        root = state["root"].to(parameter.dtype).mul_(state["root_scale"])
        root.square_().mul_(second).addcmul_(gradient, gradient, value=1 - second).sqrt_()
        state["root"], state["root_scale"] = quantised(root)
        corrected = (1 - second ** state["step"]) ** 0.5
        rate = group["lr"] / (1 - first ** state["step"])
        parameter.addcdiv_(mean, root.div_(corrected).add_(group["eps"]), value=-rate)
