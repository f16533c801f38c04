"""Matrix products against torch's FlopCounterMode on meta tensors, and its blind spots by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from costlab.algebra import as_expr, symbol
from costlab.graph import Call, TensorSpec
from tests.rules.recorder import cost_of, measure, only, record

Function = Callable[..., torch.Tensor]

PRODUCTS: dict[str, tuple[Function, tuple[tuple[int, ...], ...]]] = {
    "mm": (torch.mm, ((3, 5), (5, 7))),
    "addmm": (torch.addmm, ((7,), (3, 5), (5, 7))),
    "addmm scaled": (lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=3), ((7,), (3, 5), (5, 7))),
    "bmm": (torch.bmm, ((11, 3, 5), (11, 5, 7))),
    "baddbmm": (torch.baddbmm, ((11, 3, 7), (11, 3, 5), (11, 5, 7))),
    "linear": (F.linear, ((2, 3, 5), (7, 5), (7,))),
    "linear without bias": (F.linear, ((2, 3, 5), (7, 5))),
    "matmul broadcast": (torch.matmul, ((2, 11, 3, 5), (5, 7))),
    "matmul batched": (torch.matmul, ((2, 1, 3, 5), (1, 11, 5, 7))),
    "scores": (lambda q, k: torch.einsum("bnhk,bmhk->bhnm", q, k), ((2, 3, 5, 7), (2, 13, 5, 7))),
    "values": (lambda p, v: torch.einsum("bhnm,bmhk->bnhk", p, v), ((2, 5, 3, 13), (2, 13, 5, 7))),
    "linear attention": (
        lambda q, k, v: torch.einsum("bnk,bnr,bnv->bkv", q, k, v),
        ((2, 3, 5), (2, 3, 7), (2, 3, 11)),
    ),
    "weights": (lambda x, w: torch.einsum("...d,df->...f", x, w), ((2, 3, 5), (5, 7))),
}


def _meta(shapes: tuple[tuple[int, ...], ...]) -> list[torch.Tensor]:
    return [torch.empty(shape, device="meta", requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("name", PRODUCTS)
def test_forward_and_backward_are_what_torch_counts(name: str) -> None:
    function, shapes = PRODUCTS[name]

    def run() -> None:
        function(*_meta(shapes)).sum().backward()

    with FlopCounterMode(display=False) as counter:
        run()
    costs = [cost_of(r.call) for r in record(run)]
    assert sum(as_expr(cost.flop_matmul).constant() for cost in costs) == counter.get_total_flops()
    assert counter.get_total_flops() > 0


@pytest.mark.parametrize("name", PRODUCTS)
def test_composite_call_counts_as_its_parts(name: str) -> None:
    """In inference mode linear, matmul and einsum arrive whole."""
    function, shapes = PRODUCTS[name]
    with FlopCounterMode(display=False) as counter:
        function(*_meta(shapes))
    with torch.inference_mode():
        inputs = [torch.empty(shape, device="meta") for shape in shapes]
        costs = [cost_of(r.call) for r in record(lambda: function(*inputs))]
    assert sum(as_expr(cost.flop_matmul).constant() for cost in costs) == counter.get_total_flops()


def test_whole_einsum_is_seen_whole() -> None:
    with torch.inference_mode():
        a, b = torch.rand(3, 5), torch.rand(3, 5)
        found, cost = only(lambda: torch.einsum("ij,ij->i", a, b), "aten.einsum")
        _, outer = only(lambda: torch.einsum("ij,kl->ijkl", a, b), "aten.einsum")
        _, implicit = only(lambda: torch.einsum("ij,kj", a, b), "aten.einsum")
    assert (cost.flop_matmul, cost.bytes_read) == (2 * 15, 2 * 15 * 4)
    assert (outer.flop_matmul, outer.flop_other) == (0, 15 * 15)
    assert implicit.flop_matmul == 2 * 3 * 3 * 5
    assert found.outputs[0].shape == (3,)


def test_addition_and_scales_are_not_matmul() -> None:
    c, a, b = torch.rand(3, 7), torch.rand(3, 5), torch.rand(5, 7)
    costs = [
        only(lambda: torch.addmm(c, a, b), "aten.addmm")[1],
        only(lambda: torch.addmm(c, a, b, beta=2.0, alpha=0.5), "aten.addmm")[1],
        only(lambda: torch.addmm(c, a, b, beta=0), "aten.addmm")[1],
        only(lambda: c.addmm_(a, b), "aten.addmm_")[1],
    ]
    assert [cost.flop_matmul for cost in costs] == [2 * 3 * 5 * 7] * 4
    assert [cost.flop_other for cost in costs] == [21, 63, 0, 21]
    product = (3 * 5 + 5 * 7) * 4
    assert [cost.bytes_read for cost in costs] == [
        product + 84,
        product + 84,
        product,
        product + 84,
    ]
    assert [cost.bytes_written for cost in costs] == [84] * 4


def test_vector_products_count_a_multiplication_and_an_addition_per_term() -> None:
    a, x, y = torch.rand(3, 5), torch.rand(5), torch.rand(3)
    assert only(lambda: a @ x, "aten.mv")[1].flop_matmul == 2 * 15
    assert only(lambda: torch.dot(x, x), "aten.dot")[1].flop_matmul == 2 * 5
    assert only(lambda: torch.addmv(y, a, x), "aten.addmv")[1].flop_other == 3
    batch = torch.rand(7, 3, 5)
    _, cost = only(lambda: torch.addbmm(torch.rand(3, 3), batch, batch.mT), "aten.addbmm")
    assert cost.flop_matmul == 2 * 7 * 3 * 3 * 5


def test_expanded_operand_is_addressed_whole() -> None:
    a = torch.rand(1, 3, 5).expand(7, 3, 5)
    _, cost = only(lambda: torch.bmm(a, torch.rand(7, 5, 2)), "aten.bmm")
    assert cost.bytes_read == 7 * (3 * 5 + 5 * 2) * 4


def test_grouped_product_counts_every_row_once() -> None:
    x, w = torch.rand(8, 16), torch.rand(2, 16, 24)
    ends = torch.tensor([3, 8], dtype=torch.int32)
    _, cost = only(lambda: torch._grouped_mm(x, w, ends), "aten._grouped_mm")
    by_group = [torch.empty(3, 16, device="meta"), torch.empty(5, 16, device="meta")]
    with FlopCounterMode(display=False) as counter:
        for rows in by_group:
            rows @ torch.empty(16, 24, device="meta")
    assert cost.flop_matmul == counter.get_total_flops()


GRID = {
    "dense": lambda: torch.rand(37, 19),
    "transposed": lambda: torch.rand(19, 37).t(),
    "expanded rows": lambda: torch.rand(1, 19).expand(37, 19),
    "expanded columns": lambda: torch.rand(37, 1).expand(37, 19),
    "every other column": lambda: torch.rand(37, 38)[:, ::2],
    "part of wider rows": lambda: torch.rand(37, 38)[:, :19],
    "overlapping rows": lambda: torch.rand(999).as_strided((37, 19), (3, 1)),
}


@pytest.mark.parametrize("layout", GRID)
def test_copies_for_blas_are_what_the_profiler_sees(layout: str) -> None:
    a, b = GRID[layout](), torch.rand(19, 23)
    batch, other = a.expand(5, 37, 19), torch.rand(5, 19, 23)
    for run in (lambda: a @ b, lambda: b.t() @ a.t(), lambda: batch @ other, lambda: a @ b[:, 0]):
        for call, scratch in measure(run):
            assert cost_of(call).scratch_bytes == scratch, call.op


def test_symbolic_operand_without_strides_of_its_own_is_copied() -> None:
    n, d = symbol("n"), symbol("d")
    expanded = TensorSpec((n, d), (0, 1), "float32")
    weight = TensorSpec((d, d), (d, 1), "float32")
    out = TensorSpec((n, d), (d, 1), "float32")
    cost = cost_of(Call("aten.mm.default", {"self": expanded, "mat2": weight}, (out,)))
    assert cost.scratch_bytes == 4 * n * d
    assert cost.flop_matmul == 2 * n * d * d
