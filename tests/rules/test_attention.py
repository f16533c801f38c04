"""Fused attention: FLOP against torch's own formulas, kept pairs by hand, scratch by profiler."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

from costlab.algebra import symbol
from costlab.errors import DerivationError
from costlab.graph import Arg, Call, TensorSpec
from costlab.rules.attention import causal_pairs, cpu_block_sizes
from costlab.rules.base import Cost, find_rule
from tests.rules.allocations import Run, bytes_with, measure
from tests.rules.recorder import only

FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default

FORWARD_OPS = [
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_cudnn_attention.default",
    "costlab.cuda_flash_attention.default",
    "costlab.cuda_efficient_attention.default",
    "flex_attention",
]
BACKWARD_OPS = [
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
    "aten._scaled_dot_product_flash_attention_backward.default",
    "aten._scaled_dot_product_efficient_attention_backward.default",
    "aten._scaled_dot_product_cudnn_attention_backward.default",
    "costlab.cuda_flash_attention_backward.default",
    "costlab.cuda_efficient_attention_backward.default",
    "flex_attention_backward",
]


def dense(*shape: Any, dtype: str = "float32") -> TensorSpec:
    stride: list[Any] = [1]
    for size in reversed(shape[1:]):
        stride.insert(0, stride[0] * size)
    return TensorSpec(tuple(shape), tuple(stride), dtype)


def cost(op: str, shapes: dict[str, tuple[Any, ...]], **more: Arg) -> Cost:
    rule = find_rule(op)
    assert rule is not None
    kept = more.pop("kept", None)
    args: dict[str, Arg] = {name: dense(*shape) for name, shape in shapes.items()}
    assert kept is None or isinstance(kept, int)
    return rule(Call(op, args | more, (), kept=kept))


def qkv(b: Any, h: Any, g: Any, n: Any, m: Any, k: Any, v: Any) -> dict[str, tuple[Any, ...]]:
    return {"query": (b, h, n, k), "key": (b, g, m, k), "value": (b, g, m, v)}


@pytest.mark.parametrize("op", FORWARD_OPS)
@pytest.mark.parametrize("sizes", [(2, 6, 6, 7, 7, 5, 5), (1, 6, 2, 9, 13, 11, 3)])
def test_forward_flop_is_torchs(op: str, sizes: tuple[int, ...]) -> None:
    shapes = qkv(*sizes)
    assert cost(op, shapes).flop_matmul == sdpa_flop_count(*shapes.values())


@pytest.mark.parametrize("op", BACKWARD_OPS)
@pytest.mark.parametrize("sizes", [(2, 6, 6, 7, 7, 5, 5), (1, 6, 2, 9, 13, 11, 3)])
def test_backward_flop_is_torchs(op: str, sizes: tuple[int, ...]) -> None:
    shapes = qkv(*sizes)
    b, h, _, n, _, _, v = sizes
    got = cost(op, shapes | {"grad_out": (b, h, n, v)}).flop_matmul
    assert got == sdpa_backward_flop_count((b, h, n, v), *shapes.values())


@pytest.mark.parametrize(
    "op", ["aten._flash_attention_forward.default", "aten._efficient_attention_forward.default"]
)
def test_position_first_operators_count_like_head_first_ones(op: str) -> None:
    b, h, n, m, k = 2, 3, 7, 9, 5
    shapes = {"query": (b, n, h, k), "key": (b, m, h, k), "value": (b, m, h, k)}
    assert cost(op, shapes).flop_matmul == 4 * b * h * n * m * k


def test_packed_sequences_are_refused() -> None:
    packed = dict.fromkeys(("query", "key", "value"), (40, 4, 8))
    with pytest.raises(DerivationError, match="padded batch"):
        cost("aten._flash_attention_forward.default", packed)


@given(st.integers(1, 40), st.integers(1, 40))
def test_causal_pairs_are_those_of_the_mask(n: int, m: int) -> None:
    kept = sum(j <= i for i in range(n) for j in range(m))
    assert causal_pairs(n, m) == kept
    symbolic = causal_pairs(symbol("n"), symbol("m"))
    assert not isinstance(symbolic, int)
    assert symbolic.evaluate({"n": n, "m": m}) == kept


def test_causal_pairs_of_a_square_are_a_polynomial() -> None:
    n = symbol("n")
    assert causal_pairs(n, n) == (n * n + n) / 2


@pytest.mark.parametrize("op", [FORWARD_OPS[0], BACKWARD_OPS[0]])
def test_causal_useful_work_is_that_of_the_kept_pairs(op: str) -> None:
    shapes = qkv(2, 3, 3, 9, 9, 5, 5) | {"grad_out": (2, 3, 9, 5)}
    full, causal = cost(op, shapes), cost(op, shapes, is_causal=True)
    kept = 2 * 3 * 45
    assert full.flop_useful is None
    assert causal.flop_matmul == full.flop_matmul
    assert causal.flop_useful == cost(op, shapes, kept=kept).flop_useful
    assert causal.flop_useful == kept * {FORWARD_OPS[0]: 4 * 5, BACKWARD_OPS[0]: 10 * 5}[op]


def test_mask_given_as_kept_counts_every_pair_when_it_keeps_all() -> None:
    shapes = qkv(2, 3, 3, 4, 6, 5, 5)
    masked = cost(FORWARD_OPS[0], shapes, attn_mask=dense(4, 6), kept=2 * 3 * 4 * 6)
    assert masked.flop_useful == masked.flop_matmul
    assert masked.flop_other - cost(FORWARD_OPS[0], shapes).flop_other == 2 * 3 * 4 * 6


@given(st.integers(1, 1500), st.integers(1, 1500))
def test_block_sizes(n: int, m: int) -> None:
    rows = 256 if n >= 768 else 64 if n >= 192 else 32
    assert cpu_block_sizes(n, m) == (min(n, rows), min(m, 512))
    symbolic = cpu_block_sizes(symbol("n"), symbol("m"))
    values = [s if isinstance(s, int) else s.evaluate({"n": n, "m": m}) for s in symbolic]
    assert values == [min(n, rows), min(m, 512)]


SHAPES = [  # b, h, n, m, k
    (1, 1, 5, 5, 8), (2, 3, 33, 33, 16), (1, 2, 191, 600, 24), (2, 2, 192, 192, 7),
    (1, 4, 300, 77, 64), (1, 2, 767, 40, 32), (1, 3, 800, 800, 8), (1, 2, 1100, 513, 16),
]  # fmt: skip
VARIANTS = [  # dtype, is_causal, masked, threads, gradient laid out as [b, n, h, k]
    (torch.float32, False, False, 1, True), (torch.float32, True, False, 2, False),
    (torch.float32, False, True, 1, False), (torch.bfloat16, True, False, 1, True),
    (torch.bfloat16, False, True, 2, False), (torch.float16, False, False, 2, True),
]  # fmt: skip
CASES = [
    (shape, variant)
    for i, (shape, variant) in enumerate(itertools.product(SHAPES, VARIANTS))
    if i % 3 == (i // len(VARIANTS)) % 3
]


def _runs() -> list[Run]:
    """Forward and backward of every case; the backward's inputs come from a forward outside."""
    runs = []
    for (b, h, n, m, k), (dtype, is_causal, masked, count, position_first) in CASES:

        def heads(length: int, b: int = b, h: int = h, k: int = k) -> torch.Tensor:
            return torch.randn(b, length, h, k).transpose(1, 2)

        q, key, value = (heads(length).to(dtype) for length in (n, m, m))
        mask = {"attn_mask": torch.randn(n, m).to(dtype)} if masked else {}
        grad = (heads(n) if position_first else torch.randn(b, h, n, k)).to(dtype)
        inputs = (q, key, value)
        out, lse = FORWARD(*inputs, 0.0, is_causal, **mask)
        runs.append(Run(FORWARD, (*inputs, 0.0, is_causal), mask, count))
        runs.append(Run(BACKWARD, (grad, *inputs, out, lse, 0.0, is_causal), mask, count))
    return runs


def test_cpu_scratch_is_what_the_allocator_sees() -> None:
    for measured in measure(_runs()):
        rule = find_rule(measured.call.op)
        assert rule is not None
        expected = bytes_with(rule(measured.call).scratch_bytes, measured.run.threads)
        assert measured.scratch_bytes == expected, measured.call


def test_symbolic_cost_equals_numeric_cost() -> None:
    names = ("b", "h", "h", "n", "m", "k", "k")
    sizes = {"b": 2, "h": 3, "n": 800, "m": 70, "k": 8, "threads": 3}
    shapes = qkv(*(symbol(name) for name in names))
    b, h, n, _, k = (symbol(name) for name in ("b", "h", "n", "m", "k"))
    for op, extra in [
        (FORWARD_OPS[0], {}),
        (BACKWARD_OPS[0], {"grad_out": (b, h, n, k)}),
        ("costlab.cuda_flash_attention_backward.default", {}),
    ]:
        symbolic = cost(op, shapes | extra, is_causal=True)
        numeric_extra = {"grad_out": (2, 3, 800, 8)} if extra else {}
        numeric = cost(op, qkv(2, 3, 3, 800, 70, 8, 8) | numeric_extra, is_causal=True)
        for field in ("flop_matmul", "flop_other", "flop_useful", "bytes_read", "scratch_bytes"):
            value = getattr(symbolic, field)
            expected = getattr(numeric, field)
            if not isinstance(expected, int):
                expected = expected.evaluate({"threads": 3})
            assert value.evaluate(sizes) == expected, (op, field)


def test_flash_backward_scratch_on_cuda() -> None:
    """Padded float32 dQ and row sums; expanded dK and dV for shared heads (flash_api.cpp)."""
    own = cost(BACKWARD_OPS[1], qkv(2, 4, 4, 200, 200, 40, 40)).scratch_bytes
    assert own == 4 * (2 * 4 * 256 * 64 + 2 * 4 * 256)
    shared = cost(BACKWARD_OPS[1], qkv(2, 4, 2, 200, 200, 40, 40)).scratch_bytes
    assert shared == own + 2 * (2 * 200 * 4 * 40) * 4


def test_bytes_are_each_tensor_once() -> None:
    q, key = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 9, 8)
    _, found = only(lambda: FORWARD(q, key, key.clone()), FORWARD_OPS[0].rsplit(".", 1)[0])
    assert found.bytes_read == 4 * (q.numel() + 2 * key.numel())
    assert found.bytes_written == 4 * (q.numel() + 2 * 3 * 5)
