"""A linear recurrence over chunks: what each chunk adds, carried into the next with a decay."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _Carry(torch.autograd.Function):
    """One fused operator per chunk, forward and backward, into tensors allocated once.

    Left to autograd, each chunk would leave a tensor of its own, and in backward a zero gradient
    of all chunks.
    """

    @staticmethod
    def forward(ctx: Any, added: Tensor, decay: Tensor) -> Tensor:
        count = added.shape[1]
        carried = added.new_empty(added.shape[0], count + 1, *added.shape[2:])
        carried[:, 0].zero_()
        for j in range(count):
            torch.addcmul(added[:, j], decay[:, j], carried[:, j], out=carried[:, j + 1])
        ctx.save_for_backward(decay, carried)
        return carried

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None]:
        (grad,) = grads
        decay, carried = ctx.saved_tensors
        count = decay.shape[1]
        back = torch.empty_like(grad[:, 1:], memory_format=torch.contiguous_format)
        back[:, count - 1].copy_(grad[:, count])
        for j in range(count - 1, 0, -1):
            torch.addcmul(grad[:, j], decay[:, j], back[:, j], out=back[:, j - 1])
        if not ctx.needs_input_grad[1]:
            return back, None
        return back, (back * carried[:, :-1]).sum_to_size(decay.shape)


def carry(added: Tensor, decay: Tensor) -> Tensor:
    """The state before each chunk, and after the last: ``s[j+1] = added[j] + decay[j] s[j]``.

    Args:
        added: ``[b, chunks, ...]``.
        decay: the same dimensions, 1 where it is the same along one.

    Returns:
        ``[b, chunks + 1, ...]``, zeros first.
    """
    carried: Tensor = _Carry.apply(added, decay)  # type: ignore[no-untyped-call]
    return carried
