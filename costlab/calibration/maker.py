"""Random tensors for the calls a calibration times. Needs torch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

ROW = 256  # elements per row of softmax, norm, reductions, sort and FFT
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes tensors of one dtype on one device."""

    dtype: torch.dtype
    device: torch.device

    def __call__(self, *shape: int, grad: bool = False) -> Tensor:
        """Normal numbers; large tensors repeat a chunk, which is quicker to make."""
        count = 1
        for size in shape:
            count *= size
        chunk = torch.randn(min(count, _CHUNK), dtype=torch.float32).to(self.device, self.dtype)
        values = chunk.repeat(-(-count // _CHUNK))[:count].reshape(shape)
        return values.requires_grad_(grad)

    def rows(self, elements: int) -> Tensor:
        return self(elements // ROW, ROW)

    def index(self, high: int, *shape: int) -> Tensor:
        return torch.randint(high, shape, device=self.device)
