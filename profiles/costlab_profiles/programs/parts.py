"""The parts that planned models are made of, as programs: one factory each, every size free.

The catalogue has whole layers; a planner needs to divide a layer among ranks, so its projections,
its core and its activation are programs of their own. Shapes: b batch, n positions, m positions
of the source, d width in, f width out (or inner), h heads, g key/value heads, j query heads per
key/value head, k head size, r rotated channels, c latent size, w kernel width.

``python -m costlab.derivation.parts`` derives the formulas under ``parts/``.
A factory whose name ends in ``_decode`` is one step with a state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Program = tuple[Callable[..., object], tuple[Tensor, ...]]
Step = tuple[Callable[..., object], tuple[Tensor, ...], tuple[Tensor, ...]]


def linear(*, b: int, n: int, d: int, f: int, bias: bool = False) -> Program:
    """x [b, n, d] times a matrix [d, f]."""
    return nn.Linear(d, f, bias=bias), (torch.randn(b, n, d),)


def _apply(function: Any, *tensors: Tensor) -> Tensor:
    y: Tensor = function.apply(*tensors)
    return y


def _heads(x: Tensor, h: int) -> Tensor:
    parted: Tensor = torch.unflatten(x, -1, (h, -1))
    return parted.transpose(1, 2)


class _Core(nn.Module):
    """Fused attention of q [b, n, j*g*k] over keys and values [b, m, g*k], merged again."""

    def __init__(self, g: int, j: int, causal: bool) -> None:
        super().__init__()
        self.g, self.j, self.causal = g, j, causal

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        y = F.scaled_dot_product_attention(
            _heads(q, self.j * self.g), _heads(k, self.g), _heads(v, self.g),
            is_causal=self.causal, enable_gqa=True,
        )  # fmt: skip
        return y.transpose(1, 2).flatten(2)


def attention_core(*, b: int, n: int, g: int, j: int, k: int, causal: bool = False) -> Program:
    """Self-attention without its projections; j query heads read each key/value head."""
    keys, values = torch.randn(b, n, g * k), torch.randn(b, n, g * k)
    return _Core(g, j, causal), (torch.randn(b, n, j * g * k), keys, values)


def cross_attention_core(*, b: int, n: int, m: int, g: int, j: int, k: int) -> Program:
    """n positions over m keys, without projections."""
    keys, values = torch.randn(b, m, g * k), torch.randn(b, m, g * k)
    return _Core(g, j, False), (torch.randn(b, n, j * g * k), keys, values)


class _LatentCore(nn.Module):
    """Attention whose queries and keys have r rotated channels beside k; values have k."""

    def __init__(self, h: int, causal: bool) -> None:
        super().__init__()
        self.h, self.causal = h, causal

    def forward(self, q: Tensor, turned: Tensor, k: Tensor, shared: Tensor, v: Tensor) -> Tensor:
        queries = torch.cat((_heads(q, self.h), _heads(turned, self.h)), dim=-1)
        turned_keys = shared.unsqueeze(1).expand(-1, self.h, -1, -1)
        keys = torch.cat((_heads(k, self.h), turned_keys), dim=-1)
        y = F.scaled_dot_product_attention(queries, keys, _heads(v, self.h), is_causal=self.causal)
        return y.transpose(1, 2).flatten(2)


def latent_core(*, b: int, n: int, h: int, k: int, r: int, causal: bool = False) -> Program:
    """Self-attention with r rotated channels, one key of them shared by the heads."""
    q, keys, values = (torch.randn(b, n, h * k) for _ in range(3))
    turned, shared = torch.randn(b, n, h * r), torch.randn(b, n, r)
    return _LatentCore(h, causal), (q, turned, keys, shared, values)


class _Written(nn.Module):
    """Scores, softmax, dropout and weighted sum as operators of their own."""

    def __init__(self, h: int) -> None:
        super().__init__()
        self.h = h

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = _heads(q, self.h) @ _heads(k, self.h).transpose(-2, -1)
        shares, _kept = torch.native_dropout(F.softmax(scores, dim=-1), 0.1, True)
        return (shares @ _heads(v, self.h)).transpose(1, 2).flatten(2)


def written_attention_core(*, b: int, n: int, h: int, k: int) -> Program:
    """Self-attention with every score in memory, and dropout of the shares."""
    return _Written(h), tuple(torch.randn(b, n, h * k) for _ in range(3))


class _Step(nn.Module):
    """One position over the keys and values so far and its own."""

    def __init__(self, g: int, j: int) -> None:
        super().__init__()
        self.g, self.j = g, j

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        keys = torch.cat((state[0], _heads(k, self.g)), dim=2)
        values = torch.cat((state[1], _heads(v, self.g)), dim=2)
        groups = q.view(q.shape[0], self.g, self.j, -1)
        y = F.scaled_dot_product_attention(groups, keys, values)
        return y.flatten(1), (keys, values)


def attention_core_decode(*, b: int, n: int, g: int, j: int, k: int) -> Step:
    """One token after n, with their keys and values as state."""
    state = (torch.randn(b, g, n, k), torch.randn(b, g, n, k))
    new = (torch.randn(b, 1, j * g * k), torch.randn(b, 1, g * k), torch.randn(b, 1, g * k))
    return _Step(g, j), new, state


class _LatentStep(nn.Module):
    """One position over latents and rotated keys: scores and sums in the latent's space."""

    def __init__(self, h: int) -> None:
        super().__init__()
        self.h = h

    def forward(
        self, q: Tensor, turned: Tensor, latent: Tensor, key: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        latents = torch.cat((state[0], latent), dim=1)
        keys = torch.cat((state[1], key), dim=1)
        scores = _heads(q, self.h).squeeze(2) @ latents.transpose(1, 2)
        scores = scores + _heads(turned, self.h).squeeze(2) @ keys.transpose(1, 2)
        return (F.softmax(scores, dim=-1) @ latents).flatten(1), (latents, keys)


def latent_core_decode(*, b: int, n: int, h: int, c: int, r: int) -> Step:
    """One token after n, with a latent of c and a rotated key of r per token as state."""
    new = (torch.randn(b, 1, h * c), torch.randn(b, 1, h * r))
    state = (torch.randn(b, n, c), torch.randn(b, n, r))
    return _LatentStep(h), (*new, torch.randn(b, 1, c), torch.randn(b, 1, r)), state


class _Activation(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def gelu(*, b: int, n: int, f: int) -> Program:
    """GELU of [b, n, f]."""
    return _Activation(F.gelu), (torch.randn(b, n, f),)


def relu(*, b: int, n: int, f: int) -> Program:
    """ReLU of [b, n, f]; its result is what backward keeps."""
    return _Activation(F.relu), (torch.randn(b, n, f),)


def silu(*, b: int, n: int, f: int) -> Program:
    """SiLU of [b, n, f]."""
    return _Activation(F.silu), (torch.randn(b, n, f),)


def squared_relu(*, b: int, n: int, f: int) -> Program:
    """The square of ReLU."""
    return _Activation(lambda x: F.relu(x).square()), (torch.randn(b, n, f),)


class _Gate(nn.Module):
    def __init__(self, gelu: bool) -> None:
        super().__init__()
        self.gelu = gelu

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        return (F.gelu(gate) if self.gelu else F.silu(gate)) * up


def gate(*, b: int, n: int, f: int, gelu: bool = False) -> Program:
    """silu(gate) * up, or gelu(gate) * up."""
    return _Gate(gelu), (torch.randn(b, n, f), torch.randn(b, n, f))


class _FusedGate(torch.autograd.Function):
    """silu(gate) * up that keeps its two inputs alone, as fused kernels do."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx: Any, y: Tensor) -> tuple[Tensor, Tensor]:
        gate, up = ctx.saved_tensors
        share = torch.sigmoid(gate)
        return y * up * share * (1 + gate * (1 - share)), y * gate * share


class _Fused(nn.Module):
    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        y: Tensor = _apply(_FusedGate, gate, up)
        return y


def fused_gate(*, b: int, n: int, f: int) -> Program:
    """silu(gate) * up in one kernel, computed again in backward."""
    return _Fused(), (torch.randn(b, n, f), torch.randn(b, n, f))


class _Dropout(nn.Module):
    """Dropout by the operator that CUDA runs, which keeps a mask of one byte."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.native_dropout(x, 0.1, True)[0]


def dropout(*, b: int, n: int, d: int) -> Program:
    """Dropout of [b, n, d] in training."""
    return _Dropout(), (torch.randn(b, n, d),)


class _Add(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def residual(*, b: int, n: int, d: int) -> Program:
    """The sum of a layer's input and what a sublayer made of it."""
    return _Add(), (torch.randn(b, n, d), torch.randn(b, n, d))


class _Scale(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


def scale(*, b: int, n: int, d: int) -> Program:
    """A learned factor per channel."""
    return _Scale(d), (torch.randn(b, n, d),)


def layer_norm(*, b: int, n: int, d: int) -> Program:
    """LayerNorm with weight and bias."""
    return nn.LayerNorm(d), (torch.randn(b, n, d),)


def layer_scale(*, b: int, n: int, d: int) -> Program:
    """LayerNorm with a weight alone."""
    return nn.LayerNorm(d, bias=False), (torch.randn(b, n, d),)


def rms_norm(*, b: int, n: int, d: int) -> Program:
    """RMSNorm, fused."""
    return nn.RMSNorm(d), (torch.randn(b, n, d),)


def embedding(*, b: int, n: int, d: int, V: int) -> Program:
    """A row of V per token [b, n]."""
    return nn.Embedding(V, d), (torch.randint(0, V, (b, n)),)


class _Table(nn.Module):
    def __init__(self, d: int, V: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(V, d))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.weight[0]


def table(*, b: int, n: int, d: int, V: int) -> Program:
    """A learned table of V rows, one of which is added: positions, biases, decays."""
    return _Table(d, V), (torch.randn(b, n, d),)


def short_convolution(*, b: int, n: int, f: int, w: int) -> Program:
    """A causal convolution of width w per channel, with bias."""
    layer = nn.Conv1d(f, f, w, groups=f, padding=w - 1)
    return _Convolution(layer), (torch.randn(b, n, f),)


class _Convolution(nn.Module):
    def __init__(self, layer: nn.Conv1d) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x.transpose(1, 2))[..., : x.shape[1]]
        return y.transpose(1, 2)


class _ConvolutionStep(nn.Module):
    def __init__(self, f: int, w: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(f, w))

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        state = torch.cat((state[..., 1:], x.transpose(1, 2)), dim=-1)
        return (state * self.weight).sum(-1), state


def short_convolution_decode(*, b: int, n: int, f: int, w: int) -> Step:
    """One token; the last w inputs of each channel are the state, whatever n."""
    return _ConvolutionStep(f, w), (torch.randn(b, 1, f),), (torch.randn(b, f, w),)


class _Recurrence(torch.autograd.Function):
    """A state [f, s] per token, none kept: its arithmetic, with a running sum for the recurrence.

    As fused kernels do, it keeps its inputs alone and computes the states again in backward.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor, step: Tensor, write: Tensor, read: Tensor, decay: Tensor,
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(x, step, write, read, decay)
        states, _decays = _states(x, step, write, decay)
        return (states * read.unsqueeze(2)).sum(-1)

    @staticmethod
    def backward(ctx: Any, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        x, step, write, read, decay = ctx.saved_tensors
        states, decays = _states(x, step, write, decay)
        y = y.unsqueeze(-1)
        grad_read = (states * y).sum(2)
        grad = torch.cumsum((y * read.unsqueeze(2) * decays).flip(1), dim=1).flip(1)
        grad_input = (grad * write.unsqueeze(2)).sum(-1)
        grad_write = (grad * (step * x).unsqueeze(-1)).sum(2)
        grad_step = (grad * states * decay).sum(-1) + grad_input * x
        return grad_input * step, grad_step, grad_write, grad_read, None


def _states(x: Tensor, step: Tensor, write: Tensor, decay: Tensor) -> tuple[Tensor, Tensor]:
    decays = torch.exp(step.unsqueeze(-1) * decay)
    inputs = (step * x).unsqueeze(-1) * write.unsqueeze(2)
    return torch.cumsum(decays * inputs, dim=1), decays


class _StateSpace(nn.Module):
    def __init__(self, f: int, s: int) -> None:
        super().__init__()
        self.decay: Tensor
        self.register_buffer("decay", -torch.rand(f, s))

    def forward(self, x: Tensor, step: Tensor, write: Tensor, read: Tensor) -> Tensor:
        y: Tensor = _apply(_Recurrence, x, step, write, read, self.decay)
        return y


def state_space(*, b: int, n: int, f: int, s: int) -> Program:
    """A selective state of s numbers per channel over n tokens (Gu and Dao 2023, section 3.3)."""
    channels, states = (torch.randn(b, n, f), torch.rand(b, n, f)), torch.randn(b, n, s)
    return _StateSpace(f, s), (*channels, states, torch.randn(b, n, s))


class _StateSpaceStep(nn.Module):
    def forward(
        self, x: Tensor, step: Tensor, write: Tensor, read: Tensor, decay: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        kept = torch.exp(step.unsqueeze(-1) * decay) * state
        state = kept + (step * x).unsqueeze(-1) * write.unsqueeze(1)
        return (state * read.unsqueeze(1)).sum(-1), state


def state_space_decode(*, b: int, n: int, f: int, s: int) -> Step:
    """One token; the state [f, s] is all that is left of the past, whatever n."""
    new = (torch.randn(b, f), torch.rand(b, f), torch.randn(b, s), torch.randn(b, s))
    return _StateSpaceStep(), (*new, -torch.rand(f, s)), (torch.randn(b, f, s),)
