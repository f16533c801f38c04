"""Thirteen small modules that everyday FLOP counters get wrong, with their true matmul FLOP.

The counts are of one forward pass, 1 multiply-add = 2 FLOP, worked out by hand from the code.
Each factory takes keyword sizes and returns ``(module, inputs)``. ``TRUTH`` is the dense
arithmetic as called; ``USEFUL`` counts only the pairs that a mask keeps.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Inputs = tuple[Tensor, ...]


class Attention(nn.Module):
    def __init__(self, d: int, h: int, kind: str) -> None:
        super().__init__()
        self.h, self.kind = h, kind
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        q, k, v = (
            f(x).view(b, n, self.h, d // self.h).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        if self.kind == "eager":
            y = (q @ k.transpose(-1, -2) / (d // self.h) ** 0.5).softmax(-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.kind == "causal")
        out: Tensor = self.o(y.transpose(1, 2).reshape(b, n, d))
        return out


class LinearAttention(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1, self.v(x)
        return torch.einsum("bnd,bde->bne", q, torch.einsum("bnd,bne->bde", k, v))


class Shared(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.layer = nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(self.layer(self.layer(x)))
        return y


class MHA(nn.Module):
    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.a = nn.MultiheadAttention(d, h, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.a(x, x, x, need_weights=False)[0]
        return y


class Scan(nn.Module):
    """h = 0.9 h + x B, y = sum(h C): only the projection is a matmul, the rest elementwise."""

    def __init__(self, d: int, s: int) -> None:
        super().__init__()
        self.s, self.p = s, nn.Linear(d, 2 * s)

    def forward(self, x: Tensor) -> Tensor:
        b_, c_ = self.p(x).split(self.s, -1)
        h, ys = x.new_zeros(x.shape[0], x.shape[2], self.s), []
        for t in range(x.shape[1]):
            h = h * 0.9 + x[:, t, :, None] * b_[:, t, None, :]
            ys.append((h * c_[:, t, None, :]).sum(-1))
        return torch.stack(ys, 1)


def _x(b: int, n: int, d: int) -> Inputs:
    return (torch.randn(b, n, d),)


def _encoder_layer(d: int, h: int) -> nn.Module:
    return nn.TransformerEncoderLayer(d, h, 4 * d, batch_first=True, dropout=0.0)


def linear(*, b: int = 2, n: int = 64, d: int = 32) -> tuple[nn.Module, Inputs]:
    return nn.Linear(d, 4 * d), _x(b, n, d)


def shared_linear(*, b: int = 2, n: int = 64, d: int = 32) -> tuple[nn.Module, Inputs]:
    return Shared(d), _x(b, n, d)


def attention_eager(
    *, b: int = 2, n: int = 64, d: int = 32, h: int = 4
) -> tuple[nn.Module, Inputs]:
    return Attention(d, h, "eager"), _x(b, n, d)


def attention_sdpa(*, b: int = 2, n: int = 64, d: int = 32, h: int = 4) -> tuple[nn.Module, Inputs]:
    return Attention(d, h, "sdpa"), _x(b, n, d)


def attention_causal(
    *, b: int = 2, n: int = 64, d: int = 32, h: int = 4
) -> tuple[nn.Module, Inputs]:
    return Attention(d, h, "causal"), _x(b, n, d)


def mha(*, b: int = 2, n: int = 64, d: int = 32, h: int = 4) -> tuple[nn.Module, Inputs]:
    return MHA(d, h), _x(b, n, d)


def encoder_layer_eval(
    *, b: int = 2, n: int = 64, d: int = 32, h: int = 4
) -> tuple[nn.Module, Inputs]:
    return _encoder_layer(d, h).eval(), _x(b, n, d)


def encoder_layer_train(
    *, b: int = 2, n: int = 64, d: int = 32, h: int = 4
) -> tuple[nn.Module, Inputs]:
    return _encoder_layer(d, h), _x(b, n, d)


def rnn(*, b: int = 2, n: int = 64, d: int = 32) -> tuple[nn.Module, Inputs]:
    return nn.RNN(d, d, batch_first=True), _x(b, n, d)


def gru(*, b: int = 2, n: int = 64, d: int = 32) -> tuple[nn.Module, Inputs]:
    return nn.GRU(d, d, batch_first=True), _x(b, n, d)


def lstm(*, b: int = 2, n: int = 64, d: int = 32) -> tuple[nn.Module, Inputs]:
    return nn.LSTM(d, d, batch_first=True), _x(b, n, d)


def linear_attention(*, b: int = 2, n: int = 64, d: int = 32) -> tuple[nn.Module, Inputs]:
    return LinearAttention(d), _x(b, n, d)


def ssm_scan(*, b: int = 2, n: int = 64, d: int = 32, s: int = 8) -> tuple[nn.Module, Inputs]:
    return Scan(d, s), _x(b, n, d)


_MHA = "8*b*n*d**2 + 4*b*n**2*d"
_ENCODER = "24*b*n*d**2 + 4*b*n**2*d"
TRUTH = {
    "linear": "8*b*n*d**2",
    "shared_linear": "6*b*n*d**2",
    "attention_eager": _MHA,
    "attention_sdpa": _MHA,
    "attention_causal": _MHA,
    "mha": _MHA,
    "encoder_layer_eval": _ENCODER,
    "encoder_layer_train": _ENCODER,
    "rnn": "4*b*n*d**2",
    "gru": "12*b*n*d**2",
    "lstm": "16*b*n*d**2",
    "linear_attention": "10*b*n*d**2",
    "ssm_scan": "4*b*n*d*s",
}
USEFUL = {"attention_causal": "8*b*n*d**2 + 2*b*n*(n + 1)*d"}
_FUSED = ("attention_sdpa", "attention_causal", "mha", "encoder_layer_eval", "encoder_layer_train")
_GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def train_truth(name: str) -> str:
    """Matmul FLOP of forward and backward: each product costs two in the backward pass.

    A fused core recomputes its scores, half of what it does forward. A recurrence's first step
    has no gradient into its initial state.
    """
    extra = "+ 2*b*n**2*d" if name in _FUSED else ""
    less = f"- {2 * _GATES[name]}*b*d**2" if name in _GATES else ""
    return f"3*({TRUTH[name]}) {extra} {less}"
