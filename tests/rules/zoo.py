"""Small pieces of code people write, each run forward and backward for the operators it calls."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

B, N, D, H = 3, 7, 12, 2


def _x(*shape: int) -> torch.Tensor:
    return torch.randn(*(shape or (B, N, D)), requires_grad=True)


def _backward(result: torch.Tensor) -> None:
    result.backward(torch.ones_like(result).contiguous())


def _of(function: Callable[[torch.Tensor], torch.Tensor], *shape: int) -> Callable[[], None]:
    return lambda: _backward(function(_x(*shape)))


def _module(make: Callable[[], nn.Module], *shape: int) -> Callable[[], None]:
    return lambda: _backward(make()(_x(*shape)))


def _attention_weights() -> None:
    attention = nn.MultiheadAttention(D, H, dropout=0.1, batch_first=True)
    x = _x()
    out, weights = attention(x, x, x, need_weights=True)
    _backward(out + weights.sum())


def _rope() -> None:
    x = _x(B, H, N, 6)
    angle = torch.outer(torch.arange(N).float(), 10000 ** (-torch.arange(0, 6, 2) / 6))
    cos, sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
    rotated = torch.cat((-x[..., 3:], x[..., :3]), dim=-1)
    _backward(x * cos + rotated * sin)
    turned = torch.view_as_complex(x.reshape(B, H, N, 3, 2))
    _backward(torch.view_as_real(turned * torch.polar(torch.ones_like(angle), angle)))


def _alibi() -> None:
    scores = _x(B, H, N, N)
    slope = 2.0 ** (-8 * torch.arange(1, H + 1) / H)
    place = torch.arange(N)
    bias = -(place[None, :] - place[:, None]).abs() * slope[:, None, None]
    hidden = torch.ones(N, N, dtype=torch.bool).triu(1)
    _backward((scores + bias).masked_fill(hidden, float("-inf")).softmax(-1))


def _experts() -> None:
    """Top-2 routing over 4 experts, tokens gathered per expert and added back."""
    x, router = _x(B * N, D), _x(D, 4)
    weights, chosen = (x @ router).softmax(-1).topk(2, dim=-1)
    weights = weights / weights.sum(-1, keepdim=True)
    out = torch.zeros_like(x)
    for expert in range(4):
        token, slot = torch.where(chosen == expert)
        out = out.index_add(0, token, x[token] * weights[token, slot, None])
    F.one_hot(chosen, 4)
    torch.bincount(chosen.flatten(), minlength=4)
    torch.argsort(chosen.flatten(), stable=True)
    _backward(out)


def _hashing() -> None:
    x = _x(B, N, D)
    projected = x @ torch.randn(D, 4)
    bucket = torch.cat([projected, -projected], -1).argmax(-1)
    order = bucket.argsort(dim=-1, stable=True)
    back = torch.zeros_like(order).scatter_(1, order, torch.arange(N).expand(B, N))
    ordered = x.gather(1, order[..., None].expand(B, N, D))
    _backward(ordered.gather(1, back[..., None].expand(B, N, D)))
    _backward(x.logsumexp(-1))


def _optimise(make: Callable[[list[nn.Parameter]], torch.optim.Optimizer]) -> Callable[[], None]:
    def run() -> None:
        layer = nn.Linear(D, 5)
        optimiser = make(list(layer.parameters()))
        for _ in range(2):
            optimiser.zero_grad(set_to_none=False)
            _backward(layer(_x()))
            nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
            optimiser.step()

    return run


def _shapes() -> None:
    x = _x()
    pieces = [
        x[:, 1:5], x[:, 2], x[..., ::2], x.unfold(1, 3, 2), x.roll(1, 1), x.flip(1),
        x.repeat(1, 2, 1), x.repeat_interleave(2, 1), F.pad(x, (1, 2, 3, 0)), F.pad(x, (-1, 0)),
        torch.stack([x, x]), x.tril(), x.triu(1), x.diagonal(dim1=1, dim2=2), x.transpose(1, 2),
        x.to(torch.bfloat16), x.masked_select(x > 0), x.index_select(1, torch.tensor([0, 2, 2])),
        x[torch.tensor([0, 1]), torch.tensor([2, 3])], x[x > 0.5],
        x.as_strided((3, 4, 5), (1, 2, 3)),
    ]  # fmt: skip
    for piece in pieces:
        _backward(piece)
    y = x.detach().clone()
    y[:, 0] = 1.0
    y[y > 1] = 0.0
    y[torch.tensor([0, 2])] = torch.zeros(N, D)
    y.index_copy_(1, torch.tensor([1, 2]), torch.zeros(B, 2, D))
    y.index_fill_(1, torch.tensor([3]), 2.0)
    y.scatter_add_(1, torch.zeros(B, N, D, dtype=torch.long), x.detach())
    y.scatter_reduce_(1, torch.zeros(B, N, D, dtype=torch.long), x.detach(), "amax")
    y.masked_scatter_(y > 0, x.detach())
    torch.slice_scatter(y, torch.zeros(B, 2, D), 1, 0, 2)
    torch.select_scatter(y, torch.zeros(B, D), 1, 2)
    y.nonzero()
    torch.searchsorted(torch.arange(9.0), y)
    torch.bucketize(y, torch.arange(9.0))
    torch.isin(torch.arange(5), torch.arange(3))
    torch.unique(torch.tensor([3, 1, 3]))
    torch.multinomial(torch.rand(4), 2)
    torch.tensor([1.0, 2.0]).sum().item()


def _linear_algebra() -> None:
    unit = torch.eye(5)
    functions: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda a: torch.linalg.solve_triangular(a.tril(-1) + unit, a, upper=False),
        lambda a: torch.linalg.cholesky(a @ a.mT + unit),
        lambda a: torch.linalg.inv(a + 9 * unit),
        lambda a: torch.linalg.solve(a + 9 * unit, a),
        lambda a: torch.linalg.qr(a)[0],
        lambda a: torch.linalg.det(a),
    ]
    for function in functions:
        _backward(function(_x(B, 5, 5)))
    _backward(torch.cdist(_x(4, 3), _x(5, 3)))


def _reductions(x: torch.Tensor) -> torch.Tensor:
    parts = [
        x.sum(1), x.mean(1), x.amax(1), x.amin(1), x.max(1)[0], x.min(1)[0], x.var(1), x.std(1),
        x.norm(dim=1), x.norm(p=1, dim=1), x.norm(p=3, dim=1), x.prod(1), x.logsumexp(1),
        torch.var_mean(x, 1)[0], x.median(1)[0], x.kthvalue(2, 1)[0], x.nansum(1),
    ]  # fmt: skip
    (x > 0).any(1), (x > 0).all(), x.argmin(1), x.aminmax(), (x > 0).count_nonzero()
    return torch.stack(parts)


def _scans(x: torch.Tensor) -> torch.Tensor:
    parts = [x.cumsum(1), x.cumprod(1), x.logcumsumexp(1), x.cummax(1)[0], x.cummin(1)[0]]
    return torch.stack(parts)


def _pointwise(x: torch.Tensor) -> torch.Tensor:
    y = x * 0.5 + 2 - x / 3
    y = y + x.exp().log1p().sqrt() + x.sin() * x.cos() + x.abs().rsqrt() + x.tanh() + x.erf()
    y = y + x.clamp(-1, 1) + x.clamp_min(0) + x**2 + x**3 + x.sigmoid() + torch.expm1(x)
    y = y + torch.where(x > 0, x, -x) + torch.lerp(x, y, 0.3) + torch.addcmul(x, x, y, value=2)
    y = y + torch.addcdiv(x, x, y * y + 1) + torch.maximum(x, y) + torch.atan2(x, y)
    y = y + torch.logaddexp(x, y) + x.square() + x.reciprocal() + x.neg() + x.masked_fill(x > 1, 0)
    ((x > 0) & (x < 1) | ~(x == 0)).logical_xor(x >= 2), x.floor(), x.round(), x.sign(), x.isnan()
    torch.arange(5) // 2, torch.arange(5) % 3, torch.arange(5) << 1, torch.arange(5) ^ 3
    return y


def _activations(x: torch.Tensor) -> torch.Tensor:
    functions: list[Callable[[torch.Tensor], torch.Tensor]] = [
        F.relu, F.gelu, F.silu, F.softplus, F.elu, F.leaky_relu, F.mish, F.logsigmoid, F.hardswish,
        F.hardsigmoid, F.hardtanh, F.selu, F.celu, F.softsign, F.relu6, F.tanhshrink, F.softshrink,
        F.hardshrink,
    ]  # fmt: skip
    y = torch.stack([function(x) for function in functions])
    return y.sum(0) + F.gelu(x, approximate="tanh") + F.threshold(x, 0.1, 2.0)


def _losses() -> None:
    x, target = _x(B * N, D), torch.randint(D, (B * N,))
    F.cross_entropy(x, target).backward()
    F.cross_entropy(x, target, label_smoothing=0.1, weight=torch.rand(D)).backward()
    F.mse_loss(x, torch.zeros_like(x)).backward()
    F.l1_loss(x, torch.zeros_like(x)).backward()
    F.smooth_l1_loss(x, torch.zeros_like(x)).backward()
    F.huber_loss(x, torch.zeros_like(x)).backward()
    F.binary_cross_entropy(x.sigmoid(), torch.rand_like(x)).backward()
    F.binary_cross_entropy_with_logits(x, torch.rand_like(x)).backward()
    F.kl_div(x.log_softmax(-1), torch.rand_like(x).softmax(-1), reduction="batchmean").backward()


def _products() -> None:
    a, b, c = _x(B, N, D), _x(B, N, D), _x(D, 5)
    _backward(torch.einsum("bnd,bmd->bnm", a, b))
    _backward(torch.einsum("bnd,de->bne", a, c))
    _backward(torch.einsum("bnd,bne->bnde", a, b))
    _backward(torch.einsum("bnd,bnd->bn", a, b))
    _backward(torch.einsum("bnd,bmd,bmk->bnk", a, b, b))
    _backward(a @ c[:, 0])
    _backward(torch.dot(c[:, 0], c[:, 1]))
    _backward(torch.outer(c[:, 0], c[:, 1]))
    _backward(torch.addmm(_x(5), a[0], c, beta=0.5))
    _backward(torch.baddbmm(_x(B, N, N), a, b.mT, alpha=0.1))
    _backward(torch.addbmm(_x(N, N), a, b.mT))
    _backward(torch.addmv(_x(N), a[0], c[:, 0]))
    _backward(torch.addr(_x(D, 5), c[:, 0], c[0]))
    _backward(torch.kron(c, c))
    _backward(F.bilinear(a, b, _x(4, D, D)))


def _dropouts(x: torch.Tensor) -> torch.Tensor:
    return F.dropout(x, 0.2) + F.dropout1d(x, 0.2) + F.alpha_dropout(x, 0.2)


def _draws() -> None:
    torch.rand(3), torch.randn(3), torch.randint(5, (3,)), torch.randperm(5)
    x = torch.empty(3).uniform_().normal_().exponential_().zero_().fill_(1).bernoulli_(0.3)
    x.bernoulli(), torch.bernoulli(torch.rand(3)), torch.rand_like(x), torch.randn_like(x)
    torch.normal(x, 1.0), torch.linspace(0, 1, 5), torch.full((2,), 3.0), torch.eye(3)
    (
        torch.zeros(2),
        torch.ones(2),
        torch.empty(2),
        x.new_zeros(2),
        x.new_empty(2),
        x.new_full((2,), 1),
    )


def _embedding_bag() -> None:
    nn.EmbeddingBag(11, D)(torch.randint(11, (B, N)))


def _embedding() -> None:
    _backward(nn.Embedding(11, D, padding_idx=0)(torch.randint(11, (B, N))))


ZOO: dict[str, Callable[[], None]] = {
    "pointwise": _of(_pointwise),
    "activations": _of(_activations),
    "glu": _of(F.glu),
    "softmax": _of(lambda x: x.softmax(-1) + x.log_softmax(1)),
    "reductions": _of(_reductions),
    "scans": _of(_scans),
    "shapes": _shapes,
    "products": _products,
    "linear algebra": _linear_algebra,
    "losses": _losses,
    "dropout": _of(_dropouts),
    "draws": _draws,
    "embedding": _embedding,
    "embedding bag": _embedding_bag,
    "linear": _module(lambda: nn.Linear(D, 5)),
    "layer norm": _module(lambda: nn.LayerNorm(D)),
    "rms norm": _module(lambda: nn.RMSNorm(D)),
    "group norm": _module(lambda: nn.GroupNorm(3, D), B, D, N),
    "batch norm": _module(lambda: nn.BatchNorm1d(D), B, D, N),
    "batch norm, evaluated": _module(lambda: nn.BatchNorm1d(D).eval(), B, D, N),
    "weight norm": _module(lambda: nn.utils.parametrizations.weight_norm(nn.Linear(D, 5))),
    "prelu": _module(lambda: nn.PReLU()),
    "attention with weights": _attention_weights,
    "rotary positions": _rope,
    "alibi": _alibi,
    "experts": _experts,
    "hashing": _hashing,
    "adam, lists": _optimise(lambda p: torch.optim.Adam(p, foreach=True, amsgrad=True)),
    "adam, loop": _optimise(lambda p: torch.optim.Adam(p, foreach=False)),
    "adam, fused": _optimise(lambda p: torch.optim.Adam(p, fused=True)),
    "adamw, lists": _optimise(lambda p: torch.optim.AdamW(p, foreach=True)),
    "adamw, fused": _optimise(lambda p: torch.optim.AdamW(p, fused=True)),
    "sgd, lists": _optimise(lambda p: torch.optim.SGD(p, momentum=0.9, foreach=True)),
    "sgd, loop": _optimise(lambda p: torch.optim.SGD(p, momentum=0.9, nesterov=True)),
    "sgd, fused": _optimise(lambda p: torch.optim.SGD(p, weight_decay=0.1, fused=True)),
    "adagrad": _optimise(lambda p: torch.optim.Adagrad(p)),
    "rmsprop": _optimise(lambda p: torch.optim.RMSprop(p, foreach=True)),
    "adafactor": _optimise(lambda p: torch.optim.Adafactor(p)),
}
