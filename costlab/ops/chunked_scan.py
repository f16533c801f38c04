"""The linear recurrence ``h[t] = decay[t] h[t-1] + added[t]`` by element, all chunks in step.

A step of the recurrence runs in every chunk at once, so there are as many dependent steps as a
chunk is long, and as many as there are chunks: one pass for what each chunk leaves at its end,
one over the chunks, and one again from the state that each begins with.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor


class _Scan(torch.autograd.Function):
    """The gradient of a recurrence is the same recurrence from the end, with the same steps."""

    @staticmethod
    def forward(ctx: Any, added: Tensor, decay: Tensor) -> Tensor:
        before = _before(added, decay, range(added.shape[2]), range(added.shape[1]))
        states = torch.empty_like(added)
        for t in range(added.shape[2]):
            last = before if t == 0 else states[:, :, t - 1]
            torch.addcmul(added[:, :, t], decay[:, :, t], last, out=states[:, :, t])
        ctx.save_for_backward(decay, states, before)
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        (grad,) = grads
        decay, states, before = ctx.saved_tensors
        count, size = decay.shape[1:3]
        # What reaches step t from step t + 1 is scaled by the decay of t + 1.
        ahead = torch.empty_like(decay)
        ahead[:, :, :-1].copy_(decay[:, :, 1:])
        ahead[:, :-1, -1].copy_(decay[:, 1:, 0])
        ahead[:, -1, -1].zero_()
        after = _before(grad, ahead, range(size - 1, -1, -1), range(count - 1, -1, -1))
        back = torch.empty_like(states)
        for t in range(size - 1, -1, -1):
            later = after if t == size - 1 else back[:, :, t + 1]
            torch.addcmul(grad[:, :, t], ahead[:, :, t], later, out=back[:, :, t])
        of_decay = torch.empty_like(states)
        torch.mul(back[:, :, 0], before, out=of_decay[:, :, 0])
        torch.mul(back[:, :, 1:], states[:, :, :-1], out=of_decay[:, :, 1:])
        return back, of_decay


def _before(added: Tensor, decay: Tensor, steps: range, chunks: range) -> Tensor:
    """The state that each chunk begins with, ``[b, chunks, ...]``, in the order given."""
    ends = added[:, :, steps[0]].clone()
    for t in steps[1:]:
        torch.addcmul(added[:, :, t], decay[:, :, t], ends, out=ends)
    whole = decay.prod(2)
    before = torch.empty_like(ends)
    before[:, chunks[0]].zero_()
    for j, following in pairwise(chunks):
        torch.addcmul(ends[:, j], whole[:, j], before[:, j], out=before[:, following])
    return before


def chunked_scan(added: Tensor, decay: Tensor) -> Tensor:
    """All states of the recurrence from a state of zeros.

    Args:
        added: ``[b, chunks, steps of a chunk, ...]``.
        decay: the same shape.

    Returns:
        The states, in the same shape.
    """
    states: Tensor = _Scan.apply(added, decay)  # type: ignore[no-untyped-call]
    return states
