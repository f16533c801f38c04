"""Products around masked scores: how many pairs are kept, against a count pair by pair."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from costlab.derivation.masks import carry_masks
from costlab.derivation.totals import concrete_call, price
from costlab.graph import TensorSpec
from costlab.sources.program import prepare, program_from
from costlab.trace.records import OpRecord
from costlab.trace.run import quiet_collector, trace

B, H, N, K = 2, 3, 7, 4
PAIRS = B * H * N * N
CAUSAL = B * H * sum(j <= i for i in range(N) for j in range(N))
PRODUCTS = ("aten.bmm.default", "aten.mm.default")


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    with quiet_collector():
        yield


def masked(
    call: Callable[..., object], *inputs: Tensor, mode: str = "train"
) -> tuple[list[OpRecord], int]:
    """The operators of a pass with masks carried, and how many belong to the forward pass."""
    gc.disable()
    found = trace(prepare(program_from((call, inputs), mode), mode), mode, {})
    carry_masks(found.ops)
    return found.ops, found.forward_ops


def heads() -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (torch.randn(B, H, N, K) for _ in range(3))
    return q, k, v


def future() -> Tensor:
    return torch.ones(N, N, dtype=torch.bool).triu(1)


def by_fill(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT).masked_fill(future(), -torch.inf).softmax(-1) @ v


def by_sum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    bias = torch.zeros(N, N).masked_fill(future(), -torch.inf)
    shares: Tensor = (q @ k.mT / K**0.5 + bias).softmax(-1)
    return shares @ v


def by_where(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("bhik,bhjk->bhij", q, k) * 0.5
    shares = torch.where(future(), torch.finfo(scores.dtype).min, scores).softmax(-1)
    return torch.einsum("bhij,bhjk->bhik", shares, v)


def by_full_bias(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A bias of the scores' own shape, as position biases per head have it."""
    bias = torch.where(future().expand(B, H, N, N), -torch.inf, 0.0)
    return (q @ k.mT + bias).softmax(-1) @ v


def by_product(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Linear attention's quadratic form: scores multiplied into a triangle, no softmax."""
    return (q @ k.mT).tril() @ v


def by_exponential(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q @ k.mT).masked_fill(future(), -torch.inf).exp()
    return scores @ v / scores.sum(-1, keepdim=True)


def by_decay(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Retention: one triangle of decays for all heads, multiplied into the scores."""
    distance = torch.arange(N)[:, None] - torch.arange(N)
    return (q @ k.mT * (0.9**distance).tril()) @ v


MASKED = [by_fill, by_sum, by_where, by_full_bias, by_product, by_decay, by_exponential]


@pytest.mark.parametrize("call", MASKED)
def test_products_around_causal_scores(call: Callable[..., object]) -> None:
    """Two products forward and four backward read or make the scores; all keep the same pairs."""
    ops, forward_ops = masked(call, *heads())
    products = [(i < forward_ops, r) for i, r in enumerate(ops) if r.op in PRODUCTS]
    assert [forward for forward, _ in products].count(True) == 2
    assert len(products) == 6
    assert [record.kept for _, record in products] == [CAUSAL] * 6
    for _, record in products:
        assert record.pairs_at is not None
        tensors = [a for a in record.args.values() if isinstance(a, TensorSpec)]
        matrix = record.outs[0] if record.pairs_at < 0 else tensors[record.pairs_at]
        assert matrix.numel == PAIRS


@pytest.mark.parametrize("call", MASKED)
def test_useful_flop_are_those_of_the_kept_pairs(call: Callable[..., object]) -> None:
    ops, _ = masked(call, *heads())
    priced = [price(concrete_call(r, "cpu"), r.pairs_at) for r in ops]
    assert sum(p.quantity("flop_matmul") for p in priced) == 6 * 2 * PAIRS * K
    assert sum(p.quantity("flop_useful") for p in priced) == 6 * 2 * CAUSAL * K


@pytest.mark.parametrize("mode", ["forward", "train"])
def test_fused_causal_attention(mode: str) -> None:
    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    ops, _ = masked(call, *heads(), mode=mode)
    priced = [price(concrete_call(r, "cpu"), r.pairs_at) for r in ops]
    products = 2 if mode == "forward" else 7
    assert sum(p.quantity("flop_matmul") for p in priced) == products * 2 * PAIRS * K
    assert sum(p.quantity("flop_useful") for p in priced) == products * 2 * CAUSAL * K


@pytest.mark.parametrize("kind", ["boolean", "additive"])
@pytest.mark.parametrize("shape", [(N, N), (B, 1, N, N), (1, H, N, N), (B, H, N, N), (B, 1, 1, N)])
def test_fused_attention_with_any_mask(kind: str, shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    seen = torch.rand(shape) < 0.6
    seen[..., 0] = True
    mask = seen if kind == "boolean" else torch.zeros(shape).masked_fill(~seen, -torch.inf)

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    ops, _ = masked(call, *heads())
    kept = sum(
        bool(seen.expand(B, H, N, N)[b, h, i, j])
        for b in range(B) for h in range(H) for i in range(N) for j in range(N)
    )  # fmt: skip
    priced = [price(concrete_call(r, "cpu"), r.pairs_at) for r in ops]
    assert sum(p.quantity("flop_useful") for p in priced) == 7 * 2 * kept * K


def test_a_shared_triangle_of_weights() -> None:
    """A causal mixing matrix: its triangle is kept, whatever the batch."""
    weights, x = torch.randn(N, N), torch.randn(B, N, K)
    ops, _ = masked(lambda w, x: w.tril() @ x, weights, x, mode="forward")
    (product,) = [r for r in ops if r.op in PRODUCTS]
    useful = price(concrete_call(product, "cpu"), product.pairs_at).quantity("flop_useful")
    assert useful == 2 * B * K * (N * (N + 1) // 2)


def test_nothing_is_kept_back_where_nothing_is_masked() -> None:
    ops, _ = masked(lambda q, k, v: (q @ k.mT).softmax(-1) @ v, *heads())
    assert [r.kept for r in ops if r.op in PRODUCTS] == [None] * 6


def test_zeros_of_the_data_are_no_mask() -> None:
    """Probabilities that vanish by rounding, and rectified values, keep everything."""

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        shares = (30 * q @ k.mT).softmax(-1)
        assert bool((shares == 0).any())
        return F.relu(shares @ v) @ v.mT

    ops, _ = masked(call, *heads())
    assert [r.kept for r in ops if r.op in PRODUCTS] == [None] * 9


def test_a_sum_with_something_unmasked_keeps_everything() -> None:
    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.mT
        return (scores.tril() + scores) @ v

    ops, _ = masked(call, *heads(), mode="forward")
    _, second = (r.kept for r in ops if r.op in PRODUCTS)
    assert second is None


def test_a_buffer_that_is_written_over_keeps_everything() -> None:
    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.mT
        buffer = torch.ones(B, H, N, N).tril()
        buffer.copy_(scores)
        return buffer @ v

    ops, _ = masked(call, *heads(), mode="forward")
    assert [r.kept for r in ops if r.op in PRODUCTS] == [None, None]


def test_projections_before_and_after_keep_everything() -> None:
    """Only products with the scores are thinned, even where sizes coincide: n = k here."""
    torch.manual_seed(0)
    w = torch.randn(N, N)

    def call(x: Tensor) -> Tensor:
        q, k, v = x @ w, x @ w.T, x @ w
        y = (q @ k.mT).masked_fill(future(), -torch.inf).softmax(-1) @ v
        return y @ w

    ops, _ = masked(call, torch.randn(B, N, N), mode="forward")
    kept = [r.kept for r in ops if r.op in PRODUCTS]
    assert kept == [None, None, None, CAUSAL // H, CAUSAL // H, None]
