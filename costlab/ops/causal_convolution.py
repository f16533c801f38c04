"""The short causal convolution of each channel alone, as state-space layers have it."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CausalConvolution(nn.Module):
    """``width`` taps per channel, the position's own included, and a bias unless told."""

    bias: Any  # a parameter, or None

    def __init__(self, channels: int, width: int, *, bias: bool = True) -> None:
        super().__init__()
        self.width = width
        spread = width**-0.5
        self.weight = nn.Parameter(torch.randn(channels, 1, width) * spread)
        self.bias = nn.Parameter(torch.zeros(channels)) if bias else None

    def forward(self, x: Tensor, before: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Convolve ``x`` [b, n, channels] after zeros, or one ``x`` [b, 1, channels] after others.

        Args:
            x: the new inputs.
            before: the ``width - 1`` inputs before a single new one, [b, channels, width - 1].

        Returns:
            The result, transposed to [b, n, channels], and all inputs ``[b, channels, ...]``, of
            which the last ``width - 1`` are what the next call comes after.
        """
        rows = x.transpose(1, 2)
        if before is not None:
            inputs = torch.cat((before, rows), dim=2)
            y = (inputs * self.weight[:, 0]).sum(-1)
            return (y if self.bias is None else y + self.bias)[:, None], inputs
        inputs = F.pad(rows, (self.width - 1, 0))
        y = F.conv1d(inputs, self.weight, self.bias, groups=self.weight.shape[0])
        return y.transpose(1, 2), inputs
