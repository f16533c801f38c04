"""Other values for a program's inputs, so that an answer kept from an earlier call shows.

The values change in place: a program may hold on to its input tensors, and their addresses are
what such an answer is most often found by. Needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

# Scaling keeps signs, zeros and infinities (masks), and none of these is a power of two alone.
_SCALES = (0.75, 1.25, 0.875, 1.125)


class Variation:
    """Changes the values of ``inputs`` in place, and puts the first ones back.

    Floating-point inputs are scaled. Where there are none, integers (tokens) are rotated, which
    keeps them in range. Inputs that share elements with themselves stay as they are.
    """

    def __init__(self, inputs: Sequence[torch.Tensor]) -> None:
        own = [tensor for tensor in inputs if tensor.numel() > 1 and tensor.is_contiguous()]
        floating = [tensor for tensor in own if tensor.is_floating_point()]
        whole = [tensor for tensor in own if not tensor.is_floating_point()]
        self._tensors = floating or [one for one in whole if one.dtype != torch.bool]
        self._first = [tensor.detach().clone() for tensor in self._tensors]

    @property
    def possible(self) -> bool:
        """Whether there is an input to change."""
        return bool(self._tensors)

    @torch.no_grad()
    def apply(self, number: int) -> None:
        """Give the inputs their variation ``number`` (from 0); each has other values."""
        scale = _SCALES[number % len(_SCALES)] ** (1 + number // len(_SCALES))
        for tensor, first in zip(self._tensors, self._first, strict=True):
            if tensor.is_floating_point():
                torch.mul(first, scale, out=tensor.detach())
            else:
                tensor.copy_(first.flatten().roll(number + 1).view_as(first))

    @torch.no_grad()
    def restore(self) -> None:
        """Put the first values back; other variations can follow."""
        for tensor, first in zip(self._tensors, self._first, strict=True):
            tensor.copy_(first)


def are_constant(inputs: Sequence[torch.Tensor]) -> bool:
    """Whether the largest floating-point input has one value throughout.

    Multiplying zeros takes less power, and with it less time, than multiplying numbers.
    """
    floating = [tensor for tensor in inputs if tensor.is_floating_point() and tensor.numel() > 1]
    if not floating:
        return False
    largest = max(floating, key=torch.Tensor.numel).detach()
    return bool((largest == largest.flatten()[0]).all())
