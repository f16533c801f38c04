"""Rotary positions: pairs of channels turned by an angle that grows with the position.

Su et al. 2021, "RoFormer", https://arxiv.org/abs/2104.09864, in the layout of the Llama models:
channel i turns with channel i + k/2. ``Scaling`` says how the frequencies are stretched for
contexts longer than those of training.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

Rotation = tuple[Tensor, Tensor]
"""Cosines and sines, each ``[n, k/2]``."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """How frequencies are stretched; ``kind`` as configs name it.

    "default" not at all; "linear" all by ``factor`` (Chen et al. 2023, arXiv 2306.15595);
    "dynamic" the base grows once a context passes ``original`` positions (NTK-aware);
    "llama3" long wavelengths by ``factor``, short ones not, a ramp between ``low`` and ``high``
    turns within ``original``; "yarn" likewise, between ``high`` (fast) and ``low`` (slow), with
    the tables times 0.1 ln(factor) + 1 (Peng et al. 2023, arXiv 2309.00071).
    """

    kind: str = "default"
    factor: float = 1.0
    original: int = 8192
    low: float = 1.0
    high: float = 4.0


def frequencies(
    k: int, base: float, scaling: Scaling, n: int, *, device: torch.device | None = None
) -> Tensor:
    """The angle per position of each of the k/2 pairs, float32, for a context of ``n``."""
    kind, factor = scaling.kind, scaling.factor
    if kind == "dynamic" and n > scaling.original and k > 2:
        stretch = factor * n / scaling.original - (factor - 1)
        base = base * stretch ** (k / (k - 2))
    exponent = torch.arange(0, k, 2, dtype=torch.float32, device=device) / k
    plain: Tensor = 1.0 / base**exponent
    if kind == "linear":
        return plain / factor
    if kind == "llama3":
        turns = scaling.original * plain / (2 * math.pi)
        kept: Tensor = ((turns - scaling.low) / (scaling.high - scaling.low)).clamp(0, 1)
        return plain * (kept + (1 - kept) / factor)
    if kind == "yarn":
        fast, slow = (
            k * math.log(scaling.original / (turns * 2 * math.pi)) / (2 * math.log(base))
            for turns in (scaling.high, scaling.low)
        )
        first, last = max(math.floor(fast), 0), min(math.ceil(slow), k - 1)
        pair = torch.arange(k // 2, dtype=torch.float32, device=device)
        stretched: Tensor = ((pair - first) / max(last - first, 0.001)).clamp(0, 1)
        return plain * (1 - stretched + stretched / factor)
    return plain


def rotation(
    x: Tensor, start: int, n: int, k: int, base: float = 10000.0, scaling: Scaling | None = None
) -> Rotation:
    """Cosines and sines of positions ``start`` to ``start + n - 1``, in the dtype of ``x``."""
    scaling = scaling or Scaling()
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    position = torch.arange(start, start + n, dtype=dtype, device=x.device)
    speed = frequencies(k, base, scaling, start + n, device=x.device)
    angle = position[:, None] * speed
    cos, sin = angle.cos(), angle.sin()
    if scaling.kind == "yarn" and scaling.factor > 1:
        length = 0.1 * math.log(scaling.factor) + 1
        cos, sin = cos * length, sin * length
    return cos.to(x.dtype), sin.to(x.dtype)


def rotate(x: Tensor, turn: Rotation) -> Tensor:
    """``x`` [..., n, k] with each pair of channels turned by its position's angle."""
    cos, sin = turn
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
