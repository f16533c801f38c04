"""Window attention in blocks against PyTorch's attention under a dense mask."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from costlab.ops.blocked_attention import window_attention, window_mask


def _dense_mask(n: int, w: int, causal: bool) -> torch.Tensor:
    distance = torch.arange(n) - torch.arange(n)[:, None]
    return (distance <= 0) & (distance > -w) if causal else distance.abs() <= w


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "w"), [(13, 4), (12, 4), (5, 7), (3, 3), (9, 1), (2, 2), (1, 3)])
def test_equals_dense_masked_attention(n: int, w: int, causal: bool) -> None:
    torch.manual_seed(n)
    q, k, v = (torch.randn(2, 3, n, 5, dtype=torch.float64, requires_grad=True) for _ in range(3))
    upstream = torch.randn(2, 3, n, 5, dtype=torch.float64)
    dense = F.scaled_dot_product_attention(q, k, v, attn_mask=_dense_mask(n, w, causal))
    blocked = window_attention(q, k, v, w, causal=causal)
    torch.testing.assert_close(blocked, dense, rtol=0, atol=1e-12)
    for ours, theirs in zip(
        torch.autograd.grad(blocked, (q, k, v), upstream),
        torch.autograd.grad(dense, (q, k, v), upstream),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "w"), [(13, 4), (12, 4), (9, 1), (6, 6), (4096, 256)])
def test_mask_keeps_the_pairs_of_the_window(n: int, w: int, causal: bool) -> None:
    kept = int(window_mask(n, w, causal=causal).flatten(0, 1)[:n].sum())
    assert kept == (n * w - w * (w - 1) // 2 if causal else n * (2 * w + 1) - w * (w + 1))


def test_two_sided_window_of_256_at_4096_attends_the_published_number_of_pairs() -> None:
    assert int(window_mask(4096, 256, causal=False).sum()) == 2_035_456


@pytest.mark.parametrize("causal", [False, True])
def test_runs_the_fused_kernel(causal: bool) -> None:
    q, k, v = (torch.randn(2, 3, 13, 5) for _ in range(3))
    with torch.profiler.profile() as profile:
        window_attention(q, k, v, 4, causal=causal)
    names = {event.name for event in profile.events() or ()}
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in names
