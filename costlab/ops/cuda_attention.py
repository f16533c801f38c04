"""CUDA's fused attention operators, stood in for on the CPU with the same outputs and layouts.

``costlab::cuda_flash_attention`` and ``costlab::cuda_efficient_attention`` return what torch's
CUDA operators return (log-sum-exp, 24 and 16 bytes of generator state) and save the same tensors
for one backward operator each. Head sizes and mask lengths are taken to be multiples of 8, and
lengths under memory-efficient attention multiples of 32 (CUDA pads others).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

_HALF = (torch.float16, torch.bfloat16)
_FLASH_MAX_HEAD_SIZE = 256

_ops: Any = torch.ops.costlab
_new_library: Any = torch.library.Library  # torch gives it no types
LIBRARY = _new_library("costlab", "FRAGMENT")
LIBRARY.define(
    "cuda_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0.,"
    " bool is_causal=False, *, float? scale=None)"
    " -> (Tensor output, Tensor logsumexp, Tensor rng_state, Tensor unused)"
)
LIBRARY.define(
    "cuda_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value,"
    " Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, Tensor rng_state,"
    " Tensor unused, *, float? scale=None) -> (Tensor, Tensor, Tensor)"
)
LIBRARY.define(
    "cuda_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias,"
    " bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None)"
    " -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)"
)
LIBRARY.define(
    "cuda_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value,"
    " Tensor? attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset,"
    " float dropout_p, bool bias_requires_grad, bool is_causal=False, *, float? scale=None)"
    " -> (Tensor, Tensor, Tensor, Tensor)"
)


def position_first_like(tensor: Tensor) -> Tensor:
    """Empty [b, h, n, k] that lies in memory as CUDA's kernels lay it: like [b, n, h, k]."""
    return torch.empty_like(tensor.transpose(1, 2)).transpose(1, 2)


def _position_first(tensor: Tensor) -> Tensor:
    """A copy of [b, h, n, k] that lies as a contiguous [b, n, h, k]."""
    copy = torch.empty(tensor.transpose(1, 2).shape, dtype=tensor.dtype).transpose(1, 2)
    return copy.copy_(tensor)


def _per_query_head(tensor: Tensor, heads: int) -> Tensor:
    return tensor.float().repeat_interleave(heads // tensor.shape[1], dim=1)


def _scores(
    query: Tensor,
    key: Tensor,
    bias: Tensor | None,
    is_causal: bool,
    scale: float,
) -> Tensor:
    scores = query.float() @ key.transpose(-2, -1) * scale
    if bias is not None:
        scores = scores + bias.float()
    if is_causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, -math.inf)
    return scores


def _dropout_mask(seed: Tensor, like: Tensor, dropout_p: float) -> Tensor:
    generator = torch.Generator().manual_seed(int(seed))
    kept = torch.rand(like.shape, generator=generator) >= dropout_p
    return kept / (1 - dropout_p)


def _new_seed(dropout_p: float) -> Tensor:
    return torch.randint(2**31, ()) if dropout_p else torch.zeros((), dtype=torch.int64)


def _probabilities(scores: Tensor, logsumexp: Tensor) -> Tensor:
    """Softmax from its normaliser; a row that keeps nothing is 0."""
    finite = logsumexp.masked_fill(logsumexp == -math.inf, 0.0)
    return torch.exp(scores - finite.unsqueeze(-1))


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    seed: Tensor,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp [b, h, n], both float32."""
    heads = query.shape[1]
    scale = scale if scale is not None else 1 / math.sqrt(query.shape[-1])
    scores = _scores(query, _per_query_head(key, heads), bias, is_causal, scale)
    logsumexp = torch.logsumexp(scores, dim=-1)
    weights = _probabilities(scores, logsumexp)
    if dropout_p:
        weights = weights * _dropout_mask(seed, weights, dropout_p)
    return weights @ _per_query_head(value, heads), logsumexp


def _attend_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    out: Tensor,
    logsumexp: Tensor,
    seed: Tensor,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of query, key, value and scores, float32; shared heads are summed."""
    heads, groups = query.shape[1], key.shape[1]
    scale = scale if scale is not None else 1 / math.sqrt(query.shape[-1])
    keys, values = _per_query_head(key, heads), _per_query_head(value, heads)
    grad = grad.float()
    weights = _probabilities(_scores(query, keys, bias, is_causal, scale), logsumexp)
    mask = _dropout_mask(seed, weights, dropout_p) if dropout_p else torch.ones(())
    row_sums = (grad * out.float()).sum(-1, keepdim=True)
    grad_scores = weights * ((grad @ values.transpose(-2, -1)) * mask - row_sums)

    def per_group(tensor: Tensor) -> Tensor:
        return torch.unflatten(tensor, 1, (groups, heads // groups)).sum(2)

    return (
        grad_scores @ keys * scale,
        per_group(grad_scores.transpose(-2, -1) @ query.float() * scale),
        per_group((weights * mask).transpose(-2, -1) @ grad),
        grad_scores,
    )


def _flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    seed = _new_seed(dropout_p)
    out, logsumexp = _attend(query, key, value, None, seed, dropout_p, is_causal, scale)
    rng_state = torch.stack([seed, torch.zeros_like(seed)])
    unused = torch.zeros((), dtype=torch.int64)
    return position_first_like(query).copy_(out), logsumexp, rng_state, unused


def _flash_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    rng_state: Tensor,
    unused: Tensor,
    *,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    gradients = _attend_backward(
        grad_out,
        query,
        key,
        value,
        None,
        out,
        logsumexp,
        rng_state[0],
        dropout_p,
        is_causal,
        scale,
    )
    inputs = (query, key, value)
    return tuple(
        position_first_like(like).copy_(g) for like, g in zip(inputs, gradients[:3], strict=True)
    )


def _efficient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    seed = _new_seed(dropout_p)
    out, logsumexp = _attend(query, key, value, attn_bias, seed, dropout_p, is_causal, scale)
    kept = logsumexp if compute_log_sumexp else logsumexp.new_empty(*query.shape[:2], 0)
    return _position_first(out.to(query.dtype)), kept, seed, torch.zeros_like(seed)


def _efficient_backward(
    grad_out_: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    out: Tensor,
    logsumexp: Tensor,
    philox_seed: Tensor,
    philox_offset: Tensor,
    dropout_p: float,
    bias_requires_grad: bool,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    *gradients, grad_bias = _attend_backward(
        grad_out_,
        query,
        key,
        value,
        attn_bias,
        out,
        logsumexp,
        philox_seed,
        dropout_p,
        is_causal,
        scale,
    )
    if bias_requires_grad:
        assert attn_bias is not None
        grad_bias = grad_bias.to(attn_bias.dtype)
    else:
        grad_bias = torch.empty(0)
    return (*(_position_first(g.to(query.dtype)) for g in gradients), grad_bias)


def _flash_context(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    query, key, value, ctx.dropout_p, ctx.is_causal = inputs
    ctx.scale = keyword_only_inputs["scale"]
    ctx.set_materialize_grads(False)
    out, logsumexp, rng_state, unused = output
    ctx.save_for_backward(query, key, value, out, logsumexp, rng_state, unused)
    ctx.mark_non_differentiable(logsumexp, rng_state, unused)


def _flash_autograd(ctx: Any, grad_out: Tensor, *_: Any) -> tuple[Any, ...]:
    query, key, value, out, logsumexp, rng_state, unused = ctx.saved_tensors
    gradients = _ops.cuda_flash_attention_backward(
        grad_out,
        query,
        key,
        value,
        out,
        logsumexp,
        ctx.dropout_p,
        ctx.is_causal,
        rng_state,
        unused,
        scale=ctx.scale,
    )
    return (*gradients, None, None)


def _efficient_context(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    query, key, value, attn_bias, _, ctx.dropout_p, ctx.is_causal = inputs
    ctx.scale = keyword_only_inputs["scale"]
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(query, key, value, attn_bias, *output)
    ctx.mark_non_differentiable(*output[1:])


def _efficient_autograd(ctx: Any, grad_out: Tensor, *_: Any) -> tuple[Any, ...]:
    query, key, value, attn_bias, out, logsumexp, seed, offset = ctx.saved_tensors
    bias_requires_grad = ctx.needs_input_grad[3]
    *gradients, grad_bias = _ops.cuda_efficient_attention_backward(
        grad_out,
        query,
        key,
        value,
        attn_bias,
        out,
        logsumexp,
        seed,
        offset,
        ctx.dropout_p,
        bias_requires_grad,
        ctx.is_causal,
        scale=ctx.scale,
    )
    return (*gradients, grad_bias if bias_requires_grad else None, None, None, None)


for _name, _kernel in {
    "cuda_flash_attention": _flash,
    "cuda_flash_attention_backward": _flash_backward,
    "cuda_efficient_attention": _efficient,
    "cuda_efficient_attention_backward": _efficient_backward,
}.items():
    LIBRARY.impl(_name, _kernel, "CPU")
torch.library.register_autograd(
    "costlab::cuda_flash_attention", _flash_autograd, setup_context=_flash_context, lib=LIBRARY
)
torch.library.register_autograd(
    "costlab::cuda_efficient_attention",
    _efficient_autograd,
    setup_context=_efficient_context,
    lib=LIBRARY,
)


def attention_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
) -> str:
    """Which kernel torch takes on CUDA for these inputs: "flash", "efficient" or "math"."""
    if query.dim() != 4 or query.dtype not in (*_HALF, torch.float32):
        return "math"
    flash = (
        query.dtype in _HALF
        and attn_mask is None
        and query.shape[-1] == key.shape[-1] == value.shape[-1] <= _FLASH_MAX_HEAD_SIZE
        and not (is_causal and query.shape[2] != key.shape[2])
    )
    if flash:
        return "flash"
    return "efficient" if query.shape[1] == key.shape[1] == value.shape[1] else "math"


REAL_ATTENTION: Callable[..., Tensor] = F.scaled_dot_product_attention


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``F.scaled_dot_product_attention`` by the operators that CUDA would run."""
    kernel = attention_kernel(query, key, value, attn_mask, is_causal)
    if kernel == "math":
        with sdpa_kernel(SDPBackend.MATH):
            return REAL_ATTENTION(
                query,
                key,
                value,
                attn_mask,
                dropout_p,
                is_causal,
                scale=scale,
                enable_gqa=enable_gqa,
            )
    if kernel == "flash":
        out, *_ = _ops.cuda_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)
        return cast(Tensor, out)
    bias = attn_mask
    if bias is not None:
        if bias.dtype == torch.bool:
            lowest = torch.scalar_tensor(-math.inf, dtype=query.dtype)
            bias = torch.where(bias, 0.0, lowest)
        bias = bias.expand(*query.shape[:3], key.shape[2])
    differentiable = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    out, *_ = _ops.cuda_efficient_attention(
        query, key, value, bias, differentiable, dropout_p, is_causal, scale=scale
    )
    return cast(Tensor, out)
