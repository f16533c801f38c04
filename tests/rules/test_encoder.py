"""Fused inference path: FLOP against the unfused module on meta, scratch by profiler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from costlab.graph import Call
from costlab.rules.base import Cost
from tests.rules.allocations import Run, bytes_with, measure
from tests.rules.recorder import cost_of, record

ENCODER = "aten._transformer_encoder_layer_fwd.default"
ATTENTION = "aten._native_multi_head_attention.default"
SIZES = [  # b, n, d, h, f; short and long against the width, narrow and wide feed-forward
    (3, 10, 16, 4, 64), (2, 37, 64, 2, 128), (2, 10, 16, 4, 200), (5, 33, 24, 2, 40),
    (4, 5, 32, 8, 7),
]  # fmt: skip


def masks(kind: str, b: int, n: int) -> dict[str, torch.Tensor]:
    padding = torch.zeros(b, n, dtype=torch.bool)
    padding[:, n // 2 :] = True
    causal = torch.ones(n, n, dtype=torch.bool).triu(1)
    both = {"src_mask": causal, "src_key_padding_mask": padding}
    return {name: m for name, m in both.items() if kind in (name, "both")}


def fused(run: Any, op: str) -> tuple[Call, dict[str, Any]]:
    with torch.no_grad():
        (found,) = [r for r in record(run) if r.call.op == op]
    return found.call, found.inputs


def encoder_call(
    sizes: tuple[int, ...], *, mask: str = "", norm_first: bool = False, activation: str = "relu"
) -> tuple[Call, dict[str, Any]]:
    b, n, d, h, f = sizes
    layer = nn.TransformerEncoderLayer(
        d, h, f, activation=activation, norm_first=norm_first, batch_first=True
    ).eval()
    x = torch.randn(b, n, d)
    return fused(lambda: layer(x, **masks(mask, b, n)), ENCODER)


@pytest.mark.parametrize("sizes", SIZES)
def test_encoder_flop_is_that_of_the_unfused_layer(sizes: tuple[int, ...]) -> None:
    b, n, d, h, f = sizes
    counter = FlopCounterMode(display=False)
    with counter:
        layer = nn.TransformerEncoderLayer(d, h, f, batch_first=True, device="meta").train()
        layer(torch.randn(b, n, d, device="meta"))
    call, _ = encoder_call(sizes)
    assert cost_of(call).flop_matmul == counter.get_total_flops()


def test_encoder_flop_with_the_usual_feed_forward() -> None:
    b, n, d = 3, 10, 16
    call, _ = encoder_call((b, n, d, 4, 4 * d))
    assert cost_of(call).flop_matmul == 24 * b * n * d**2 + 4 * b * n**2 * d


@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_flop_is_that_of_the_unfused_module(need_weights: bool) -> None:
    b, n, d, h = 2, 11, 24, 4
    module = nn.MultiheadAttention(d, h, batch_first=True).eval()
    x = torch.randn(b, n, d)
    call, _ = fused(lambda: module(x, x, x, need_weights=need_weights), ATTENTION)
    counter = FlopCounterMode(display=False)
    with counter:
        meta = torch.randn(b, n, d, device="meta")
        other = nn.MultiheadAttention(d, h, batch_first=True, device="meta").train()
        other(meta, meta, meta, need_weights=False)
    cost = cost_of(call)
    assert cost.flop_matmul == counter.get_total_flops()
    assert cost.bytes_read == 4 * (x.numel() + sum(p.numel() for p in module.parameters()))


def _encoder_runs() -> list[Run]:
    runs = []
    for i, sizes in enumerate(SIZES):
        for mask in ("", "src_mask", "src_key_padding_mask", "both"):
            activation = "gelu" if i % 2 else "relu"
            _, inputs = encoder_call(sizes, mask=mask, norm_first=i % 2 == 1, activation=activation)
            op = torch.ops.aten._transformer_encoder_layer_fwd.default
            runs.append(Run(op, (), inputs, threads=1 + i % 2))
    return runs


def _attention_runs() -> list[Run]:
    runs = []
    for b, n, d, h, _ in SIZES:
        module = nn.MultiheadAttention(d, h, batch_first=True).eval()
        x = torch.randn(b, n, d)
        for options in ({"need_weights": False}, {}, {"average_attn_weights": False}):

            def run(module: Any = module, x: Any = x, options: Any = options) -> Any:
                return module(x, x, x, **options)

            _, inputs = fused(run, ATTENTION)
            runs.append(Run(torch.ops.aten._native_multi_head_attention.default, (), inputs))
    return runs


def test_scratch_is_what_the_allocator_sees() -> None:
    for measured in measure(_encoder_runs() + _attention_runs()):
        expected = bytes_with(cost_of(measured.call).scratch_bytes, measured.run.threads)
        assert measured.scratch_bytes == expected, measured.call


def test_useful_work_leaves_out_dropped_scores() -> None:
    b, n, d, h, f = SIZES[0]
    call, _ = encoder_call(SIZES[0], mask="src_mask")
    cost = cost_of(replace(call, kept=b * h * n * (n + 1) // 2))
    assert cost.flop_useful == 8 * b * n * d**2 + 4 * b * n * d * f + 2 * b * n * (n + 1) * d
    assert cost_of(call).flop_useful is None


def test_scores_are_not_written_out_on_cuda() -> None:
    call, _ = encoder_call(SIZES[1])
    on_cuda = cost_of(replace(call, backend="cuda"))
    assert on_cuda.scratch_bytes == 0
    assert on_cuda.flop_matmul == cost_of(call).flop_matmul


def test_bias_and_rescale() -> None:
    """One addition per element of q, k and v, one scale per element of q."""
    qkv, bias = torch.randn(2, 7, 36), torch.randn(36)
    found = record(lambda: torch._transform_bias_rescale_qkv(qkv, bias, 3))
    cost: Cost = cost_of(found[0].call)
    assert cost.flop_other == 2 * 7 * 36 + 2 * 7 * 12
    assert cost.bytes_written == cost.bytes_read - 36 * 4 == 2 * 7 * 36 * 4
    op = torch.ops.aten._transform_bias_rescale_qkv.default
    (measured,) = measure([Run(op, (qkv, bias, 3))])
    assert measured.scratch_bytes == bytes_with(cost.scratch_bytes, 1)
