"""Softmax attention within a window, block by block: no scores between distant positions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from costlab.ops.windows import block_count, block_spans, blocks


def window_mask(n: int, w: int, *, causal: bool, device: torch.device | None = None) -> Tensor:
    """True where a query may see a key of its span, ``[ceil(n/w), w, span]``.

    Query t of block j stands at j*w + t, key s of its span at (j-1)*w + s. The window is the
    query and the w-1 keys before it (causal), or w keys on each side. ``span`` is 2w or 3w.
    """
    count = block_count(n, w)
    query = torch.arange(w, device=device)[:, None]
    key = torch.arange(-w, w if causal else 2 * w, device=device)
    distance = key - query
    near = (distance > -w) & (distance <= 0) if causal else distance.abs() <= w
    position = key + w * torch.arange(count, device=device)[:, None]
    exists = (position >= 0) & (position < n)
    return near & exists[:, None, :]


def window_attention(
    q: Tensor, k: Tensor, v: Tensor, w: int, *, causal: bool, shared: int = 0
) -> Tensor:
    """Attend within a window of ``w`` keys, in blocks of ``w`` queries.

    Every block sees 2w keys (causal) or 3w, so the work is O(n w) and nothing of n x n exists.

    Args:
        q, k, v: ``[b, h, n, k]``; n need not be a multiple of w.
        w: keys on each side of the query; causal: keys up to and with the query's own.
        causal: whether later keys are hidden.
        shared: how many of the first keys every query sees as well, however far they are (causal:
            unless they come after it); their copies, one per block, are the only ones of the keys.

    Returns:
        ``[b, h, n, k]``.
    """
    batch, heads, n, _ = q.shape
    after = 0 if causal else 1
    mask = window_mask(n, w, causal=causal, device=q.device)
    keys, values = block_spans(k, w, 1, after), block_spans(v, w, 1, after)
    if shared:
        keys, values = _with_shared(keys, k, shared), _with_shared(values, v, shared)
        mask = _with_shared_columns(mask, w, shared, causal=causal)
    # Only with four dimensions, the mask's too, does the fused kernel run: batch and heads become
    # the first, blocks the second. Flattening after the padding keeps the spans views.
    mixed = F.scaled_dot_product_attention(
        blocks(q, w).flatten(0, 1), keys.flatten(0, 1), values.flatten(0, 1), attn_mask=mask[None]
    )
    return torch.unflatten(mixed.flatten(1, 2)[:, :n], 0, (batch, heads))


def _with_shared(spans: Tensor, x: Tensor, shared: int) -> Tensor:
    """Spans ``[b, h, blocks, span, k]`` with the first ``shared`` rows of ``x`` after each."""
    count = spans.shape[2]
    # An index that takes all rows takes none away, and backward is another program then.
    rows = x.narrow(2, 0, min(shared, x.shape[2]))
    return torch.cat((spans, rows[:, :, None].expand(-1, -1, count, -1, -1)), dim=-2)


def _with_shared_columns(mask: Tensor, w: int, shared: int, *, causal: bool) -> Tensor:
    """The mask ``[blocks, w, span]`` with ``shared`` columns more, and each key seen only once."""
    count, _, span = mask.shape
    key = torch.arange(-w, span - w, device=mask.device)
    position = key + w * torch.arange(count, device=mask.device)[:, None]
    near = mask & (position >= shared)[:, None, :]
    far = near.new_ones(count, w, shared)
    if causal:
        query = torch.arange(count * w, device=mask.device).view(count, w, 1)
        far = torch.arange(shared, device=mask.device) <= query
    return torch.cat((near, far), dim=-1)
