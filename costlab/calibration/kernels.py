"""The calls a calibration times, built from real torch functions. Needs torch.

A builder takes a case's shape and returns a call without arguments. Inputs are random, never
zeros, and the same buffers every time: a call finds them where the one before left them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from costlab.calibration.gradients import GRADIENTS
from costlab.calibration.maker import ROW, Maker
from costlab.calibration.programs import PROGRAMS

Action = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A call, in which autograd mode it runs, which phase it is and what to do before each.

    ``stages`` are the call in parts, each with its phase; ``held_bytes`` exist before the call.
    """

    action: Action
    grad: bool = False
    phase: str = "forward"
    between: Callable[[], None] | None = None
    stages: tuple[tuple[str, Action], ...] = ()
    held_bytes: int = 0

    def parts(self) -> tuple[tuple[str, Action], ...]:
        return self.stages or ((self.phase, self.action),)


def build(name: str, shape: tuple[int, ...], dtype: str, device: str) -> Kernel:
    """The kernel ``name`` at ``shape``."""
    make = Maker(getattr(torch, dtype), torch.device(device))
    if name in PROGRAMS:
        program = PROGRAMS[name](shape, make.dtype, make.device)
        return Kernel(
            program.run,
            grad=program.trains,
            between=program.reset if program.trains else None,
            stages=program.stages(),
            held_bytes=program.held_bytes(),
        )
    if name in GRADIENTS:
        inputs, output = GRADIENTS[name](make, *shape)
        upstream = torch.randn_like(output)
        return Kernel(
            lambda: torch.autograd.grad(output, inputs, upstream, retain_graph=True),
            grad=True,
            phase="backward",
        )
    if name in _PAIRWISE:
        x, y = make(shape[0]), make(shape[0])
        return Kernel(functools.partial(_PAIRWISE[name], x, y))
    if name in _POINTWISE:
        return Kernel(_pointwise(make, shape[0], _POINTWISE[name]))
    return Kernel(_BUILDERS[name](make, *shape))


def _pointwise(make: Maker, elements: int, function: Callable[[Tensor], object]) -> Action:
    x = make(elements)
    return lambda: function(x)


_PAIRWISE: dict[str, Callable[[Tensor, Tensor], object]] = {
    "add": torch.add, "mul": torch.mul
}  # fmt: skip
_POINTWISE: dict[str, Callable[[Tensor], object]] = {
    "exp": torch.exp,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": F.relu,
    "elu": F.elu,
    "softplus": F.softplus,
    "rsqrt": torch.rsqrt,
    "pow": lambda x: x.pow(2),
    "dropout": lambda x: torch.native_dropout(x, 0.1, True),
    "clone": torch.clone,
    "fill": lambda x: x.fill_(1.5),
    "zeros": lambda x: torch.zeros(x.shape, dtype=x.dtype, device=x.device),
}


# Forward kernels: each takes a maker and the dimensions of its shape.


def _matmul(make: Maker, batch: int, m: int, k: int, n: int) -> Action:
    if batch == 1:
        # The second factor transposed, as the weight of a linear layer is.
        a, b = make(m, k), make(n, k).t()
        return lambda: torch.mm(a, b)
    a, b = make(batch, m, k), make(batch, k, n)
    return lambda: torch.bmm(a, b)


def _attention(make: Maker, heads: int, n: int, m: int, width: int, causal: bool = False) -> Action:
    q, k, v = make(1, heads, n, width), make(1, heads, m, width), make(1, heads, m, width)
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def _lstm(make: Maker, batch: int, steps: int, width: int, hidden: int) -> Action:
    module = torch.nn.LSTM(width, hidden, device=make.device, dtype=make.dtype)
    x = make(steps, batch, width)
    return lambda: module(x)


def _convolution(
    make: Maker, batch: int, channels: int, filters: int, length: int, kernel: int
) -> Action:
    x, weight = make(batch, channels, length), make(filters, channels, kernel)
    return lambda: F.conv1d(x, weight, padding=kernel // 2)


def _mask(x: Tensor) -> Tensor:
    """The end of each row, as causal masks hide it: at random places, branches are mispredicted."""
    rows, columns = (torch.arange(size, device=x.device) for size in x.shape)
    return columns > (rows % ROW)[:, None]


def _masked_fill(make: Maker, elements: int) -> Action:
    x = make.rows(elements)
    mask = _mask(x)
    return lambda: x.masked_fill(mask, -1.0)


def _where(make: Maker, elements: int) -> Action:
    x, y = make.rows(elements), make.rows(elements)
    mask = _mask(x)
    return lambda: torch.where(mask, x, y)


def _rowwise(function: Callable[[Tensor], object]) -> Callable[..., Action]:
    def builder(make: Maker, elements: int) -> Action:
        x = make.rows(elements)
        return lambda: function(x)

    return builder


def _by_row(function: Callable[[Tensor, Tensor], object]) -> Callable[..., Action]:
    """Rows with one number each, as where rows are normalised or brought to their largest."""

    def builder(make: Maker, elements: int) -> Action:
        x = make(elements // _NARROW, _NARROW)
        y = make(elements // _NARROW, 1)
        return lambda: function(x, y)

    return builder


def _compare(make: Maker, elements: int) -> Action:
    """Integers, each of a row with each of a column, as masks by position or bucket are made."""
    count = max(elements // ROW // 16, 1)
    x, y = make.index(ROW, count, 16, 1), make.index(ROW, count, 1, ROW)
    return lambda: x == y


def _column_sum(make: Maker, elements: int) -> Action:
    """Over the sequence, or of a bias's gradient over the batch: not along the memory."""
    x = make(max(elements // _NARROW // 64, 1), 64, _NARROW)
    return lambda: x.sum(1)


def _layer_norm(make: Maker, elements: int) -> Action:
    x, weight, bias = make.rows(elements), make(ROW), make(ROW)
    return lambda: F.layer_norm(x, (ROW,), weight, bias)


def _clone_heads(make: Maker, elements: int) -> Action:
    """Bring (sequence, heads, 32) to (heads, sequence, 32), as every attention layer does."""
    x = make(elements // ROW, 8, ROW // 8).transpose(0, 1)
    return lambda: x.contiguous()


def _cat(make: Maker, elements: int) -> Action:
    x, y = make.rows(elements // 2), make.rows(elements // 2)
    return lambda: torch.cat((x, y), dim=0)


def _pad(make: Maker, elements: int) -> Action:
    x = make.rows(elements)
    return lambda: F.pad(x, (0, 0, 1, 1))


def _index_select(make: Maker, elements: int) -> Action:
    x = make(elements // 64, 64)
    index = make.index(x.shape[0], x.shape[0])
    return lambda: x.index_select(0, index)


def _gather(make: Maker, elements: int) -> Action:
    x = make.rows(elements)
    index = make.index(ROW, *x.shape)
    return lambda: x.gather(1, index)


def _scatter_add(make: Maker, elements: int) -> Action:
    x, source = make.rows(elements), make.rows(elements)
    index = make.index(ROW, *x.shape)
    return lambda: x.scatter_add_(1, index, source)


def _scatter(make: Maker, elements: int) -> Action:
    x, source = make.rows(elements), make.rows(elements)
    index = make.index(ROW, *x.shape)
    return lambda: x.scatter_(1, index, source)


def _index_put(make: Maker, elements: int) -> Action:
    x, source = make(elements // 64, 64), make(elements // 64, 64)
    index = make.index(x.shape[0], x.shape[0])
    return lambda: x.index_put_((index,), source)


def _fft(make: Maker, elements: int) -> Action:
    # Half precision has no FFT on the CPU.
    x = make.rows(elements).to(torch.promote_types(make.dtype, torch.float32))
    return lambda: torch.fft.rfft(x)


_NARROW = 64  # elements of a row beside one number, or of a row that is summed over rows

_BUILDERS: dict[str, Callable[..., Action]] = {
    "matmul": _matmul,
    "attention": _attention,
    "attention_causal": functools.partial(_attention, causal=True),
    "lstm": _lstm,
    "convolution": _convolution,
    "masked_fill": _masked_fill,
    "where": _where,
    "softmax": _rowwise(lambda x: torch.softmax(x, -1)),
    "layer_norm": _layer_norm,
    "sum": _rowwise(lambda x: x.sum(-1)),
    "column_sum": _column_sum,
    "div": _by_row(torch.div),
    "sub": _by_row(torch.sub),
    "eq": _compare,
    "amax": _rowwise(lambda x: x.amax(-1)),
    "cumsum": _rowwise(lambda x: x.cumsum(-1)),
    "clone_heads": _clone_heads,
    "cat": _cat,
    "pad": _pad,
    "logsumexp": _rowwise(lambda x: x.logsumexp(-1)),
    "index_select": _index_select,
    "gather": _gather,
    "scatter_add": _scatter_add,
    "scatter": _scatter,
    "index_put": _index_put,
    "sort": _rowwise(lambda x: x.sort(-1)),
    "topk": _rowwise(lambda x: x.topk(8, -1)),
    "fft": _fft,
}
