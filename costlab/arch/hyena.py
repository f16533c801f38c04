"""Hyena of order 2: gates and one long convolution, whose filter is a function of the distance.

Poli et al. 2023, "Hyena hierarchy", section 3 and appendix A, https://arxiv.org/abs/2302.10866.

    y_t = out(x1_t * sum over j <= t of filter_(t - j) (x2 v)_j)

Shapes: b batch, n positions, d channels, f width of the filter's network, r wave pairs.
    u, y         [b, n, d]
    x1, x2, v    [b, d, n], each after three taps of causal convolution
    waves        [n, 2r + 1]: the distance over n, and cosines and sines of it
    filter       [d, n], for each channel of its own

The convolution is a product of spectra of 2n values, zeros behind the sequence, so that its cost
is of order n log n. The filter's network has sines between its products and its output falls
with distance, at a speed of each channel's own:
4 d**2 + 14 d + f (2r + 1) + f**2 + d f + 3 f parameters, whatever n is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.ops.causal_convolution import CausalConvolution

_TAPS = 3
_SHORT, _LONG = 0.3, 1.5  # within these shares of the sequence filters fall to a hundredth


@dataclass(frozen=True, slots=True)
class Config:
    """``d`` channels; the filter's network has width ``f`` and ``r`` pairs of waves."""

    d: int
    f: int
    r: int

    def __post_init__(self) -> None:
        check_positive(d=self.d, f=self.f, r=self.r)


def _precise(dtype: torch.dtype) -> torch.dtype:
    """What distances and spectra are computed in: neither has a form of 16 bits."""
    return torch.float64 if dtype == torch.float64 else torch.float32


class ImplicitFilter(nn.Module):
    """Filters [d, n] of ``n`` distances."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.r = config.r
        self.rise = nn.Linear(2 * config.r + 1, config.f)
        self.middle = nn.Linear(config.f, config.f)
        self.frequency = nn.Parameter(torch.ones(config.f))
        self.out = nn.Linear(config.f, config.d, bias=False)
        self.fall = nn.Parameter(math.log(100) / torch.linspace(_SHORT, _LONG, config.d))

    def forward(self, n: int) -> Tensor:
        weight = self.fall
        at = torch.arange(n, device=weight.device, dtype=_precise(weight.dtype))[:, None] / n
        angles = at * torch.arange(1, self.r + 1, device=weight.device) * (2 * math.pi)
        waves = torch.cat((at, angles.cos(), angles.sin()), dim=-1).to(weight.dtype)
        hidden = (self.frequency * self.rise(waves)).sin()
        hidden = (self.frequency * self.middle(hidden)).sin()
        filters: Tensor = self.out(hidden) * (-at * weight.abs()).exp().to(weight.dtype)
        return filters.t()


class HyenaCore(nn.Module):
    """Short convolutions, gates, and a long convolution by the spectra of both its sides."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.short = CausalConvolution(3 * config.d, _TAPS)
        self.skip = nn.Parameter(torch.ones(config.d))

    def forward(self, inner: Tensor, filters: Tensor) -> Tensor:
        """From ``inner`` [b, n, 3 d] and ``filters`` [d, n] to [b, n, d]."""
        mixed, _ = self.short(inner)
        first, second, v = mixed.transpose(1, 2).chunk(3, dim=1)
        gated, n = second * v, inner.shape[1]
        precise = _precise(gated.dtype)
        spectrum = torch.fft.rfft(gated.to(precise), n=2 * n)
        spectrum = spectrum * torch.fft.rfft(filters.to(precise), n=2 * n)
        whole: Tensor = torch.fft.irfft(spectrum, n=2 * n)
        long = whole[..., :n].to(gated.dtype) + gated * self.skip[:, None]
        y: Tensor = (first * long).transpose(1, 2)
        return y


class Hyena(nn.Module):
    """Projections, the filter's network and the core."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d, 3 * config.d, bias=False)
        self.filter = ImplicitFilter(config)
        self.core = HyenaCore(config)
        self.o = nn.Linear(config.d, config.d, bias=False)

    def forward(self, u: Tensor) -> Tensor:
        y: Tensor = self.o(self.core(self.inner(u), self.filter(u.shape[1])))
        return y


def naive(module: Hyena, u: Tensor) -> Tensor:
    """Compute the same with every convolution written out as sums over distances."""
    n, inner, core = u.shape[1], module.inner(u), module.core
    rows: list[Tensor] = []
    for t in range(n):
        row: Tensor = core.short.bias
        for tap in range(min(_TAPS, t + 1)):
            row = row + inner[:, t - tap] * core.short.weight[:, 0, _TAPS - 1 - tap]
        rows.append(row)
    first, second, v = torch.stack(rows, dim=1).chunk(3, dim=-1)
    gated, filters = second * v, module.filter(n)
    outputs = []
    for t in range(n):
        y = gated[:, t] * core.skip
        for j in range(t + 1):
            y = y + filters[:, t - j] * gated[:, j]
        outputs.append(module.o(first[:, t] * y))
    return torch.stack(outputs, dim=1)


def build(
    *, b: int, n: int, d: int, f: int = 64, r: int = 16
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module and an input ``[b, n, d]``."""
    check_positive(b=b, n=n)
    return Hyena(Config(d, f, r)), (torch.randn(b, n, d),)


_PAPER = "Poli et al. 2023, proposition 3.2"

SPEC = ArchitectureSpec(
    name="hyena",
    title="Hyena, gates and a long convolution by Fourier transforms",
    kind="architecture",
    family="convolution",
    paper="https://arxiv.org/abs/2302.10866",
    symbols=("b", "n", "d", "f", "r"),
    defaults={"b": 1, "n": 1024, "d": 512, "f": 64, "r": 16},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "core", "n*log(n, 2)", _PAPER, ("n",)),
        Claim("peak_bytes", "layer", "n", _PAPER, ("n",)),
    ),
    gives_up="No state of fixed size: a step of generation reads all positions before it.",
)
