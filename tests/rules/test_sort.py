"""Sorting and searching: comparisons of known sizes, and the logarithm in a formula."""

from __future__ import annotations

import math
from functools import cmp_to_key

import pytest
import torch

from costlab.algebra import as_expr, exact_log2, symbol
from costlab.graph import Call, TensorSpec
from tests.rules.recorder import cost_of, measure, only


def test_power_of_two_is_exact() -> None:
    x = torch.rand(3, 16)
    _, cost = only(lambda: x.sort(-1), "aten.sort")
    assert cost.flop_other == 3 * 16 * 4
    assert cost.bytes_written == 48 * (4 + 8)


def test_sort_goes_along_its_dimension() -> None:
    x = torch.rand(8, 32)
    assert only(lambda: x.sort(0), "aten.sort")[1].flop_other == 8 * 32 * 3
    assert only(lambda: x.argsort(dim=1, stable=True), "aten.sort")[1].flop_other == 8 * 32 * 5


def test_comparisons_of_a_merge_sort_are_near_the_count() -> None:
    """Python's sort, a merge sort, on random values: at least ``log2(n!)``, at most the count."""
    n = 4096
    values = torch.rand(n, generator=torch.Generator().manual_seed(0))
    done = 0

    def compare(a: float, b: float) -> int:
        nonlocal done
        done += 1
        return (a > b) - (a < b)

    sorted(values.tolist(), key=cmp_to_key(compare))
    _, cost = only(lambda: values.sort(), "aten.sort")
    assert math.lgamma(n + 1) / math.log(2) <= done <= as_expr(cost.flop_other).evaluate({})


def test_logarithm_stays_in_the_formula() -> None:
    b, n = symbol("b"), symbol("n")
    spec = TensorSpec((b, n), (n, 1), "float32")
    cost = cost_of(Call("aten.sort.default", {"self": spec}, (spec, spec)))
    assert cost.flop_other == b * n * exact_log2(n)
    at_size = as_expr(cost.flop_other).subs({"b": 3, "n": 31})
    assert at_size == 93 * as_expr(exact_log2(31))
    assert as_expr(cost.flop_other).evaluate({"b": 3, "n": 31}) == pytest.approx(93 * math.log2(31))
    assert as_expr(cost.flop_other).subs({"b": 3, "n": 32}) == 3 * 32 * 5


def test_selection_scans_once_and_sorts_what_it_keeps() -> None:
    x = torch.rand(3, 37)
    assert only(lambda: x.topk(4), "aten.topk")[1].flop_other == 3 * 37 + 3 * 4 * 2
    assert only(lambda: x.topk(1), "aten.topk")[1].flop_other == 3 * 37
    assert only(lambda: x.kthvalue(5), "aten.kthvalue")[1].flop_other == 2 * 3 * 37


def test_search_reads_only_what_it_visits() -> None:
    values, edges = torch.rand(11), torch.arange(64.0)
    _, cost = only(lambda: torch.searchsorted(edges, values), "aten.searchsorted")
    assert cost.flop_other == 11 * 6
    assert cost.bytes_read == 11 * 4 + 11 * 6 * 4
    _, cost = only(lambda: torch.bucketize(values, edges), "aten.bucketize")
    assert cost.flop_other == 11 * 6


def test_distinct_values_are_found_by_sorting() -> None:
    x = torch.randint(5, (32,))
    assert only(lambda: torch.unique(x), "aten._unique2")[1].flop_other == 32 * (5 + 1)
    _, cost = only(lambda: torch.isin(x[:24], x[:8]), "aten.isin")
    assert cost.flop_other == 32 * (5 + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scratch_of_sorting(dtype: torch.dtype) -> None:
    x = torch.rand(3, 37, 5).to(dtype)
    runs = [
        lambda: x.sort(1), lambda: x.mT.sort(-1), lambda: x.topk(2, 1), lambda: x.kthvalue(2, 1),
        lambda: x.median(1), lambda: x.median(), lambda: x.argmax(1),
        lambda: torch.searchsorted(torch.arange(9.0).to(dtype), x.mT),
    ]  # fmt: skip
    for run in runs:
        for call, scratch in measure(run):
            assert cost_of(call).scratch_bytes == scratch, call
