"""A matrix state passed from chunk to chunk, in which what is written depends on what was held."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _PassedOn(torch.autograd.Function):
    """Four operators a chunk, forward and backward, into tensors allocated once."""

    @staticmethod
    def forward(
        ctx: Any, new: Tensor, old: Tensor, rest: Tensor, kept: Tensor
    ) -> tuple[Tensor, Tensor]:
        count, written = new.shape[1], torch.empty_like(new)
        states = new.new_empty(new.shape[0], count + 1, rest.shape[-1], new.shape[-1])
        states[:, 0].zero_()
        for j in range(count):
            row = torch.baddbmm(new[:, j], old[:, j], states[:, j], alpha=-1)
            written[:, j].copy_(row)
            added = rest[:, j].mT @ row
            torch.addcmul(added, kept[:, j], states[:, j], out=states[:, j + 1])
        ctx.save_for_backward(old, rest, kept, states, written)
        return states, written

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        of_states, of_written = grads
        old, rest, kept, states, written = ctx.saved_tensors
        count, back = kept.shape[1], torch.empty_like(states)
        wrote = torch.empty_like(of_written)
        back[:, count].copy_(of_states[:, count])
        for j in range(count - 1, -1, -1):
            row = torch.baddbmm(of_written[:, j], rest[:, j], back[:, j + 1])
            wrote[:, j].copy_(row)
            less = torch.baddbmm(of_states[:, j], old[:, j].mT, row, alpha=-1)
            torch.addcmul(less, kept[:, j], back[:, j + 1], out=back[:, j])
        before, after = states[:, :-1], back[:, 1:]
        of_kept = (after * before).sum((-2, -1), keepdim=True)
        return wrote, -(wrote @ before.mT), written @ after.mT, of_kept


def pass_on(new: Tensor, old: Tensor, rest: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """The state before each chunk and after the last, and what each position writes.

    ``written[j] = new[j] - old[j] s[j]`` and ``s[j+1] = kept[j] s[j] + rest[j]^T written[j]``.

    Args:
        new: ``[b, chunks, c, v]``.
        old: ``[b, chunks, c, k]``.
        rest: ``[b, chunks, c, k]``.
        kept: ``[b, chunks, 1, 1]``.

    Returns:
        ``[b, chunks + 1, k, v]``, zeros first, and ``[b, chunks, c, v]``.
    """
    states, written = _PassedOn.apply(new, old, rest, kept)  # type: ignore[no-untyped-call]
    return states, written
