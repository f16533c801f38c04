"""Shapes and layouts of CUDA's attention operators, for runs with symbolic sizes.

Importing this module registers them. They return what the stand-ins of
:mod:`costlab.ops.cuda_attention` return, without numbers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from costlab.ops.cuda_attention import LIBRARY, position_first_like

_register_fake: Any = torch.library.register_fake


def _scalar() -> Tensor:
    return torch.empty((), dtype=torch.int64)


def _position_first(like: Tensor, size: int) -> Tensor:
    """Empty [b, h, n, size], with b, h and n of ``like``, that lies as [b, n, h, size]."""
    b, h, n, _ = like.shape
    return like.new_empty(b, n, h, size).transpose(1, 2)


def _flash(query: Tensor, key: Tensor, value: Tensor, *_: object, **__: object) -> Any:
    logsumexp = query.new_empty(query.shape[:3], dtype=torch.float32)
    state = torch.empty(2, dtype=torch.int64)
    return position_first_like(query), logsumexp, state, _scalar()


def _flash_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: object, **__: object
) -> Any:
    return tuple(position_first_like(tensor) for tensor in (query, key, value))


def _efficient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    *_: object,
    **__: object,
) -> Any:
    positions = query.shape[2] if compute_log_sumexp else 0
    logsumexp = query.new_empty(*query.shape[:2], positions, dtype=torch.float32)
    return _position_first(query, value.shape[3]), logsumexp, _scalar(), _scalar()


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
    *_: object,
    **__: object,
) -> Any:
    gradients = [_position_first(tensor, tensor.shape[3]) for tensor in (query, key, value)]
    if not bias_requires_grad or attn_bias is None:
        return (*gradients, torch.empty(0))
    shape = (*query.shape[:3], key.shape[2])
    return (*gradients, attn_bias.new_empty(shape))


for _name, _fake in {
    "cuda_flash_attention": _flash,
    "cuda_flash_attention_backward": _flash_backward,
    "cuda_efficient_attention": _efficient,
    "cuda_efficient_attention_backward": _efficient_backward,
}.items():
    _register_fake(f"costlab::{_name}", _fake, lib=LIBRARY)
