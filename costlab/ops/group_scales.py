"""Weights of 8 or 4 bits, symmetric around zero, with one scale for each group of a row.

Dettmers et al. 2022, "LLM.int8()", section 2, https://arxiv.org/abs/2208.07339, with the groups of
Frantar et al. 2022, "GPTQ", section 4, https://arxiv.org/abs/2210.17323.

A matrix ``[f, d]`` becomes integers ``[f, d]`` (int8) or two to a byte ``[f, d/2]`` (uint8), and
scales ``[f, d/c]`` for groups of ``c``.
"""

from __future__ import annotations

import torch
from torch import Tensor

_LARGEST = {8: 127, 4: 7}


def quantise(weight: Tensor, group: int, bits: int) -> tuple[Tensor, Tensor]:
    """Integers and scales of ``weight`` [f, d]; the largest of each group is met exactly."""
    parts = torch.unflatten(weight, -1, (-1, group))
    scales = parts.abs().amax(-1) / _LARGEST[bits]
    whole = (parts / scales.clamp_min(1e-12)[..., None]).round().to(torch.int8).flatten(-2)
    return (whole if bits == 8 else _packed(whole)), scales


def _packed(whole: Tensor) -> Tensor:
    """Two integers of -8 to 7 in each byte, the even column in the low half."""
    raised = (whole + 8).to(torch.uint8)
    return raised[..., ::2] | (raised[..., 1::2] << 4)


def dequantise(stored: Tensor, scales: Tensor) -> Tensor:
    """The matrix that ``stored`` and ``scales`` stand for, in the dtype of the scales."""
    if stored.dtype == torch.uint8:
        halves = torch.stack((stored & 15, stored >> 4), dim=-1).flatten(-2)
        whole = halves.to(scales.dtype).sub_(8)
    else:
        whole = stored.to(scales.dtype)
    groups = scales.shape[-1]
    return (
        torch.unflatten(whole, -1, (groups, whole.shape[-1] // groups)) * scales[..., None]
    ).flatten(-2)
