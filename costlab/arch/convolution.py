"""A convolution over positions: each output is a product with the w inputs on each side.

LeCun et al. 1989, https://doi.org/10.1162/neco.1989.1.4.541, as "Attention is all you need",
https://arxiv.org/abs/1706.03762, compares it in table 1; causal as in van den Oord et al. 2016,
"WaveNet", https://arxiv.org/abs/1609.03499.

Shapes: b batch, n positions, d channels, w window.
    x, y       [b, n, d]
    weight     [d, d, 2w+1]; causal: [d, d, w]
    state      the last w-1 inputs, [b, d, w-1]

The window is w inputs on each side of the output's own, so 2w+1 taps; causal: w taps, the own
included. Outside the sequence the inputs are 0. Every channel reads every channel: 2w+1 or w
times d**2 parameters, no bias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

State = tuple[Tensor]


@dataclass(frozen=True, slots=True)
class Config:
    """Channels ``d``, window ``w``; ``causal``."""

    d: int
    w: int
    causal: bool = False

    def __post_init__(self) -> None:
        check_positive(d=self.d, w=self.w)


class ConvolutionCore(nn.Module):
    """One convolution of ``[b, n, d]`` over n."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, w, self.causal = config.d, config.w, config.causal
        self.w = w
        taps = w if config.causal else 2 * w + 1
        self.weight = nn.Parameter(torch.randn(d, d, taps) * (d * taps) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.transpose(1, 2)
        if self.causal:
            return F.conv1d(F.pad(rows, (self.w - 1, 0)), self.weight).transpose(1, 2)
        return F.conv1d(rows, self.weight, padding=self.w).transpose(1, 2)

    def step(self, inputs: Tensor) -> Tensor:
        """The last output ``[b, 1, d]`` of a causal one from its w ``inputs`` [b, d, w]."""
        return F.linear(inputs.flatten(1), self.weight.flatten(1))[:, None]


class Convolution(nn.Module):
    """A convolution over positions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.core = ConvolutionCore(config)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.core(x)
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the last w-1 inputs, with zeros before the first."""
        kept = F.pad(x.transpose(1, 2), (self.core.w - 1, 0))
        return self.core(x), (kept[:, :, x.shape[1] :].contiguous(),)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one new token ``x`` [b, 1, d]."""
        inputs = torch.cat((state[0], x.transpose(1, 2)), dim=2)
        return self.core.step(inputs), (inputs[:, :, 1:],)


def naive(module: Convolution, x: Tensor) -> Tensor:
    """Compute the same output by output, tap by tap."""
    core, n = module.core, x.shape[1]
    first = core.w - 1 if core.causal else core.w
    outputs = []
    for i in range(n):
        y = x.new_zeros(x.shape[0], x.shape[2])
        for tap in range(core.weight.shape[2]):
            if 0 <= i - first + tap < n:
                y = y + x[:, i - first + tap] @ core.weight[:, :, tap].T
        outputs.append(y)
    return torch.stack(outputs, dim=1)


def build(
    *, b: int, n: int, d: int, w: int = 3, causal: bool = False
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return Convolution(Config(d, w, causal)), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, w: int = 3
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the causal prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return Convolution(Config(d, w, causal=True)).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, w: int = 3
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens (the cost does not depend on n), its token and state."""
    check_positive(b=b, n=n)
    module = Convolution(Config(d, w, causal=True))
    return module.step, (torch.randn(b, 1, d),), (torch.randn(b, d, w - 1),)


_TABLE_1 = "Vaswani et al. 2017, section 4, table 1"

SPEC = ArchitectureSpec(
    name="convolution",
    title="Convolution over positions",
    kind="architecture",
    family="convolution",
    paper="https://doi.org/10.1162/neco.1989.1.4.541",
    symbols=("b", "n", "d", "w"),
    defaults={"b": 1, "n": 1024, "d": 512, "w": 3},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim("flop", "layer", "b*n*w*d**2", _TABLE_1),
        Claim("steps", "layer", "1", _TABLE_1, variables=("n",)),
        Claim("parameters", "layer", "w*d**2", _TABLE_1),
    ),
    gives_up="A position farther than w is reached only through further layers, n/w of them.",
    options={"causal": (False, True)},
)
