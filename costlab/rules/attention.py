"""Fused scaled dot product attention: CPU flash, CUDA flash, efficient and cuDNN, flex_attention.

Per score the forward pass does scale, maximum, subtraction, exponential and sum (5 operations)
and one more under a mask; each output element is normalised once. The backward pass recomputes
the scores (scale, subtract log-sum-exp, exponential), subtracts the row sum of ``dO * O``,
multiplies by the probability and scales (6, one more under a mask). Bytes count each tensor once:
what a kernel reads again from cache is not memory traffic of the operator.
"""

from __future__ import annotations

from dataclasses import dataclass

from costlab.algebra import (
    Size,
    as_expr,
    at_least,
    ceil_div,
    exact_div,
    minimum,
    simplest,
    symbol,
    total,
)
from costlab.errors import DerivationError
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, read_bytes, rule, written_bytes
from costlab.rules.layout import copy_bytes

FORWARD_OPS_PER_SCORE = 5
BACKWARD_OPS_PER_SCORE = 6

_CUDA_FORWARD = (
    "aten._scaled_dot_product_flash_attention",
    "aten._scaled_dot_product_efficient_attention",
    "aten._scaled_dot_product_cudnn_attention",
    "aten._scaled_dot_product_fused_attention_overrideable",
    "costlab.cuda_flash_attention",
    "costlab.cuda_efficient_attention",
    "aten._flash_attention_forward",
    "aten._efficient_attention_forward",
)
_FLASH_BACKWARD = (
    "aten._scaled_dot_product_flash_attention_backward",
    "costlab.cuda_flash_attention_backward",
    "aten._flash_attention_backward",
)
_OTHER_CUDA_BACKWARD = (
    "aten._scaled_dot_product_efficient_attention_backward",
    "aten._scaled_dot_product_cudnn_attention_backward",
    "aten._scaled_dot_product_fused_attention_overrideable_backward",
    "costlab.cuda_efficient_attention_backward",
    "aten._efficient_attention_backward",
)
_POSITION_FIRST = ("aten._flash_attention_", "aten._efficient_attention_")  # [b, n, h, k]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """b batch, h query and g key heads, n and m positions, k and v head sizes of q, k and v."""

    b: Size
    h: Size
    g: Size
    n: Size
    m: Size
    k: Size
    v: Size

    @property
    def scores(self) -> Size:
        return self.b * self.h * self.n * self.m


def _sizes(call: Call) -> _Sizes:
    query, key, value = (call.tensor(name).shape for name in ("query", "key", "value"))
    if len(query) != 4:
        raise DerivationError(
            "attention over packed sequences has no formula: lengths are data",
            operator=call.op,
            advice="use a padded batch",
        )
    heads, positions = (2, 1) if call.op.startswith(_POSITION_FIRST) else (1, 2)
    return _Sizes(
        b=query[0], h=query[heads], g=key[heads], n=query[positions], m=key[positions],
        k=query[3], v=value[3],
    )  # fmt: skip


def causal_pairs(n: Size, m: Size) -> Size:
    """Pairs that torch's ``is_causal`` keeps: query i sees keys 0..i of m (aligned at the start).

    >>> causal_pairs(4, 4)
    10
    """
    square = minimum(n, m)
    return simplest(exact_div(square * (square + 1), 2) + (n - square) * m)


def _kept_scores(call: Call, sizes: _Sizes) -> Size | None:
    if call.kept is not None:
        return call.kept
    if call.args.get("is_causal") or call.args.get("custom_mask_type"):
        return sizes.b * sizes.h * causal_pairs(sizes.n, sizes.m)
    return None


def _cost(
    call: Call, sizes: _Sizes, matmul: Size, other: int, row: Size, scratch: Size, launches: int
) -> Cost:
    """Cost from matrix and pointwise FLOP per score and pointwise FLOP per query position."""
    other += int(any(call.has(name) for name in ("attn_mask", "attn_bias", "bias")))
    rows = sizes.b * sizes.h * sizes.n * row
    kept = _kept_scores(call, sizes)
    return Cost(
        kind="attention",
        flop_matmul=sizes.scores * matmul,
        flop_other=sizes.scores * other + rows,
        flop_useful=None if kept is None else kept * matmul,
        bytes_read=read_bytes(call),
        bytes_written=written_bytes(call),
        scratch_bytes=scratch,
        launches=launches,
    )


def _forward(call: Call, scratch: Size = 0) -> Cost:
    s = _sizes(call)
    return _cost(call, s, 2 * (s.k + s.v), FORWARD_OPS_PER_SCORE, s.v, scratch, launches=1)


def _backward(call: Call, scratch: Size, launches: int) -> Cost:
    s = _sizes(call)
    matmul = 2 * (3 * s.k + 2 * s.v)
    return _cost(call, s, matmul, BACKWARD_OPS_PER_SCORE, 2 * s.v, scratch, launches)


# -- CPU ----------------------------------------------------------------------------------------


def cpu_block_sizes(n: Size, m: Size) -> tuple[Size, Size]:
    """Rows and columns of the score block that one thread of the CPU flash kernel works on.

    256 rows from n = 768, 64 from n = 192, else 32, and 512 columns; at most n and m
    (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp of torch 2.13).
    """
    rows = 32 + 32 * at_least(n, 192) + 192 * at_least(n, 768)
    return minimum(n, rows), minimum(m, 512)


def _is_half(spec: TensorSpec) -> bool:
    return spec.dtype in ("bfloat16", "float16")


def _accumulator_bytes(spec: TensorSpec) -> int:
    return 4 if _is_half(spec) else spec.itemsize


@rule("aten._scaled_dot_product_flash_attention_for_cpu")
def cpu_flash(call: Call) -> Cost:
    """Scratch per thread: a block of scores, row maxima and sums, a block of the output.

    In half precision the probabilities are kept a second time in the tensor's own type. (With
    float16 on AVX-512 the kernel may also pack keys and values, outside torch's allocator.)
    """
    query = call.tensor("query")
    rows, columns = cpu_block_sizes(query.shape[2], call.tensor("key").shape[2])
    accumulated = rows * columns + 2 * rows + rows * query.shape[3]
    per_thread = accumulated * _accumulator_bytes(query)
    if _is_half(query):
        per_thread = per_thread + rows * columns * query.itemsize
    return _forward(call, symbol("threads") * per_thread)


@rule("aten._scaled_dot_product_flash_attention_for_cpu_backward")
def cpu_flash_backward(call: Call) -> Cost:
    """Scratch per thread: two blocks of scores, in half precision each twice.

    The row sums are counted once: the other threads allocate theirs, at most 1 KiB each, where
    torch's profiler does not look. A gradient not laid out as [b, n, h, k] is copied first.
    """
    query = call.tensor("query")
    rows, columns = cpu_block_sizes(query.shape[2], call.tensor("key").shape[2])
    wide = _accumulator_bytes(query)
    per_score = wide + (query.itemsize if _is_half(query) else 0)
    scratch = symbol("threads") * 2 * rows * columns * per_score + rows * wide
    scratch = scratch + _copied(call, "grad_out")
    return _backward(call, scratch, launches=1)


# -- CUDA ---------------------------------------------------------------------------------------


@rule(*_CUDA_FORWARD)
def cuda_forward(call: Call) -> Cost:
    """One kernel that keeps its blocks on chip; buffers of split keys (decode) are left out."""
    return _forward(call)


@rule(*_FLASH_BACKWARD)
def cuda_flash_backward(call: Call) -> Cost:
    """Row sums, main loop, conversion of dQ from its float32 accumulator.

    Scratch as mha_bwd of torch's flash_api.cpp allocates it: row sums and dQ in float32, n to a
    multiple of 128 and k to one of 32; dK and dV for every query head where heads share keys;
    copies of an output and a gradient that are not laid out as [b, n, h, k].
    """
    s = _sizes(call)
    rows = s.b * s.h * 128 * ceil_div(s.n, 128)
    scratch = 4 * rows * (1 + 32 * ceil_div(s.k, 32)) + _copied(call, "grad_out", "out")
    if as_expr(s.h) != as_expr(s.g):
        itemsize = call.tensor("key").itemsize
        scratch = scratch + s.b * s.m * s.h * (s.k + s.v) * itemsize
    return _backward(call, scratch, launches=3)


@rule(*_OTHER_CUDA_BACKWARD)
def cuda_backward(call: Call) -> Cost:
    """Row sums of ``dO * O`` in float32, then the main loop; its own accumulators are left out."""
    s = _sizes(call)
    scratch = 4 * s.b * s.h * s.n + _copied(call, "grad_out", "grad_out_")
    return _backward(call, scratch, launches=2)


def _copied(call: Call, *names: str) -> Size:
    """Bytes of copies that make the named tensors lie as [b, n, h, k]."""
    order = (0, 1, 2, 3) if call.op.startswith(_POSITION_FIRST) else (0, 2, 1, 3)
    return total(copy_bytes(call.tensor(name), order) for name in names if call.has(name))


# -- flex_attention -----------------------------------------------------------------------------


@rule("flex_attention", "higher_order.flex_attention")
def flex_forward(call: Call) -> Cost:
    """Dense count; ``kept`` holds what the block mask keeps. The score function is not counted."""
    return _forward(call)


@rule("flex_attention_backward", "higher_order.flex_attention_backward")
def flex_backward(call: Call) -> Cost:
    return _backward(call, 0, launches=2)
