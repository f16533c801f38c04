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


class GruCellLoop(nn.Module):
    """The same with a GRU cell: other operators per step, and a state of one tensor."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        del heads
        self.cell = nn.GRUCell(width, width)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros_like(x[:, 0])
        outputs = []
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
            outputs.append(state)
        return torch.stack(outputs, dim=1)


class LinearLoop(CellLoop):
    """A recurrence written out in Python: few operators per step, and a module call."""

    def __init__(self, width: int, heads: int) -> None:
        nn.Module.__init__(self)
        del heads
        self.mix = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros_like(x[:, 0])
        outputs = []
        for step in x.unbind(1):
            state = torch.tanh(self.mix(state) + step)
            outputs.append(state)
        return torch.stack(outputs, dim=1)


class Gru(nn.Module):
    """A recurrent layer whose steps are called from C++ rather than from Python."""

    kind: type[nn.GRU] | type[nn.RNN] = nn.GRU

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        del heads
        self.layer = self.kind(width, width, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)[0]
        return y


class Rnn(Gru):
    """The same with fewer operators per step."""

    kind = nn.RNN


class Gated(nn.Module):
    """A gated layer with a running sum: matrix products, SiLU, products and a scan."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        del heads
        self.norm = nn.LayerNorm(width)
        self.up, self.gate = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width)
        self.down = nn.Linear(3 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        mixed = (self.up(y) * F.silu(self.gate(y))).cumsum(1) / x.shape[1]
        down: Tensor = self.down(mixed)
        return x + torch.sigmoid(x) * down


class Convolved(nn.Module):
    """Two convolutions over the sequence, each with GELU, and a norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        del heads
        self.norm = nn.LayerNorm(width)
        self.first, self.second = (nn.Conv1d(width, width, 3, padding=1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        y = F.gelu(self.first(x.transpose(1, 2)))
        normed: Tensor = self.norm(x + F.gelu(self.second(y)).transpose(1, 2))
        return normed


class Sorted(nn.Module):
    """Tokens sorted by a score, mixed in pairs of the sorted order, and put back."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        del heads
        self.score, self.mix = nn.Linear(width, 1), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        order = self.score(x).squeeze(-1).argsort(dim=1).unsqueeze(-1).expand(b, n, d)
        ordered = x.gather(1, order)
        before = F.pad(ordered, (0, 0, 1, 0))[:, :n]
        mixed = self.mix(torch.cat((ordered, before), dim=-1))
        return torch.zeros_like(x).scatter(1, order, mixed)


class Cache(nn.Module):
    """One token appended to a cache of keys and values, and mixed with all of them."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        past = x.view(b, n, self.heads, -1).transpose(1, 2)
        q, k, v = (
            part.view(b, 1, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x[:, -1:]).split(d, dim=-1)
        )
        keys, values = torch.cat((past, k), dim=2), torch.cat((past, v), dim=2)
        mixed = F.scaled_dot_product_attention(q, keys, values)
        y: Tensor = self.out(mixed.transpose(1, 2).reshape(b, 1, d))
        return y


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

    def held_bytes(self) -> int:
        """Bytes of the parameters and the input."""
        return sum(t.nbytes for t in (*self.module.parameters(), self.x))

    def reset(self) -> None:
        self.module.zero_grad(set_to_none=True)
        self.x.grad = None


Builder = Callable[[tuple[int, ...], torch.dtype, torch.device], SmallProgram]


def _builder(kind: type[nn.Module], trains: bool) -> Builder:
    def build(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> SmallProgram:
        b, n, d, heads = shape
        module = kind(d, heads).to(device, dtype).train(trains)
        x = torch.randn(b, n, d, device=device, dtype=dtype, requires_grad=trains)
        with torch.no_grad():
            upstream = torch.randn_like(module(x))
        return SmallProgram(module, x, upstream, trains)

    return build


_MODULES: dict[str, type[nn.Module]] = {
    "block": Block, "scores": ScoresBlock, "cell_loop": CellLoop,
    "gru_cell_loop": GruCellLoop, "linear_loop": LinearLoop, "gru": Gru, "rnn": Rnn,
    "gated": Gated, "convolved": Convolved, "sorted": Sorted, "cache": Cache,
}  # fmt: skip
PROGRAMS: dict[str, Builder] = {
    f"{name}{suffix}": _builder(kind, trains)
    for name, kind in _MODULES.items()
    for suffix, trains in (("_pass", False), ("_train_pass", True))
}
