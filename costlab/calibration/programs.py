"""Small whole programs: their passes check the rates, and at tiny sizes show the cost per call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """Pre-norm attention with fused scores, then a feed-forward layer; x is (b, n, d)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        q, k, v = (
            part.view(b, n, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.first(x)).split(d, dim=-1)
        )
        mixed = self.mix(q, k, v).transpose(1, 2).reshape(b, n, d)
        x = x + self.out(mixed)
        raised: Tensor = self.down(F.gelu(self.up(self.second(x))))
        return x + raised

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v)


class ScoresBlock(Block):
    """The same with its scores written out: softmax and matrix products as operators."""

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, dim=-1) @ v


class CellLoop(nn.Module):
    """An LSTM cell in a Python loop over the sequence."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        del heads
        self.cell = nn.LSTMCell(width, width)

    def forward(self, x: Tensor) -> Tensor:
        state = (torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0]))
        outputs = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1)


@dataclass(frozen=True, slots=True)
class SmallProgram:
    """A module with its input, ready to run."""

    module: nn.Module
    x: Tensor
    upstream: Tensor
    trains: bool

    def run(self) -> object:
        output = self.module(self.x)
        if self.trains:
            torch.autograd.backward(output, self.upstream)
        return output

    def stages(self) -> tuple[tuple[str, Callable[[], object]], ...]:
        """The pass in parts, for who must tell forward from backward. Run them in order."""
        outputs: list[Tensor] = []
        forward = ("forward", lambda: outputs.append(self.module(self.x)))
        if not self.trains:
            return (forward,)
        return (
            forward,
            ("backward", lambda: torch.autograd.backward(outputs.pop(), self.upstream)),
        )

    def reset(self) -> None:
        self.module.zero_grad(set_to_none=True)
        self.x.grad = None


Builder = Callable[[tuple[int, ...], torch.dtype, torch.device], SmallProgram]


def _builder(kind: type[nn.Module], trains: bool) -> Builder:
    def build(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> SmallProgram:
        b, n, d, heads = shape
        module = kind(d, heads).to(device, dtype).train(trains)
        x = torch.randn(b, n, d, device=device, dtype=dtype, requires_grad=trains)
        return SmallProgram(module, x, torch.randn(b, n, d, device=device, dtype=dtype), trains)

    return build


PROGRAMS: dict[str, Builder] = {
    "block_pass": _builder(Block, False),
    "scores_pass": _builder(ScoresBlock, False),
    "cell_loop_pass": _builder(CellLoop, False),
    "block_train_pass": _builder(Block, True),
    "scores_train_pass": _builder(ScoresBlock, True),
    "cell_loop_train_pass": _builder(CellLoop, True),
}
