"""Rules against everyday code: no gap, matmul FLOP of torch's counter, scratch of its profiler."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from costlab.algebra import Expr, Size, as_expr, symbol
from costlab.graph import Arg, Call, TensorSpec
from costlab.rules.base import KINDS, Cost, find_rule
from tests.rules.allocations import threads
from tests.rules.recorder import Recorded, cost_of, measure, record
from tests.rules.zoo import ZOO

NOT_MODELLED = {
    "aten._unique2", "aten.multinomial", "aten._trilinear", "aten.linalg_qr", "aten._linalg_det",
    "aten._embedding_bag",
}  # fmt: skip
"""Operators made of others in ways that depend on the data or on LAPACK's choice of workspace."""
FLOAT32_ONLY = ("linear algebra", "rotary positions")
COUNTED_BY_TORCH = ("aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm")


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    torch.manual_seed(0)
    with threads(1):
        yield


@cache
def _recorded(name: str) -> list[Recorded]:
    return record(ZOO[name])


def _packet(call: Call) -> str:
    return call.op.rsplit(".", 1)[0]


def _number(value: Size | None) -> float:
    return float(as_expr(value or 0).evaluate({"threads": 1}))


@pytest.mark.parametrize("name", ZOO)
def test_every_operator_has_a_rule(name: str) -> None:
    seen = _recorded(name)
    assert seen
    gaps = {r.call.op for r in seen if find_rule(r.call.op) is None}
    assert gaps == set()
    for recorded in seen:
        cost = cost_of(recorded.call)
        assert cost.kind in KINDS
        assert min(_number(getattr(cost, f.name)) for f in fields(Cost) if f.name != "kind") >= 0


@pytest.mark.parametrize("name", ZOO)
def test_matmul_flop_is_what_torch_counts(name: str) -> None:
    torch.manual_seed(1)
    with FlopCounterMode(display=False) as counter:
        ZOO[name]()
    torch.manual_seed(1)
    costs = [cost_of(r.call) for r in record(ZOO[name]) if _packet(r.call) in COUNTED_BY_TORCH]
    assert sum(_number(cost.flop_matmul) for cost in costs) == counter.get_total_flops()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_scratch_is_what_the_profiler_sees(dtype: torch.dtype) -> None:
    names = [n for n in ZOO if dtype == torch.float32 or n not in FLOAT32_ONLY]
    wrong: dict[str, tuple[int, float]] = {}
    torch.set_default_dtype(dtype)
    try:
        calls = [pair for name in names for pair in measure(ZOO[name])]
    finally:
        torch.set_default_dtype(torch.float32)
    for call, scratch in calls:
        expected = _number(cost_of(call).scratch_bytes)
        if scratch != expected and _packet(call) not in NOT_MODELLED:
            wrong[str(call)] = (scratch, expected)
    assert wrong == {}
    assert sum(scratch > 0 for _, scratch in calls) > 100


def _symbols(spec: TensorSpec) -> TensorSpec:
    """The spec with every size above 1 as a symbol named after it; dense strides likewise."""
    shape = tuple(symbol(f"s{d}") if isinstance(d, int) and d > 1 else d for d in spec.shape)
    stride = list(spec.stride)
    expected: Size = 1
    number: Size = 1
    for i in sorted(range(len(shape)), key=lambda i: (_number(spec.stride[i]), -i)):
        if spec.shape[i] == 1 or spec.stride[i] == 0:
            continue
        if spec.stride[i] != number:
            break
        stride[i] = expected
        expected = expected * shape[i]
        number = number * spec.shape[i]
    return replace(spec, shape=shape, stride=tuple(stride))


def _to_symbols(value: Arg) -> Arg:
    if isinstance(value, TensorSpec):
        return _symbols(value)
    return tuple(_to_symbols(item) for item in value) if isinstance(value, tuple) else value


def _close(a: Size | None, b: Size | None, sizes: dict[str, int]) -> bool:
    left = as_expr(a or 0).evaluate(sizes)
    right = as_expr(b or 0).evaluate(sizes)
    if isinstance(left, (int, Fraction)) and isinstance(right, (int, Fraction)):
        return left == right
    return math.isclose(left, right, rel_tol=1e-12)


@pytest.mark.parametrize("name", ZOO)
def test_formula_equals_number(name: str) -> None:
    checked = 0
    for recorded in _recorded(name):
        call = recorded.call
        sizes = {f"s{d}": d for t in (*call.tensors(), *call.outs) for d in t.shape}
        formula = Call(
            call.op,
            {key: _to_symbols(value) for key, value in call.args.items()},
            tuple(_symbols(out) for out in call.outs),
        )
        number, symbolic = cost_of(call), cost_of(formula)
        values = {"threads": 1, **{k: v for k, v in sizes.items() if isinstance(v, int)}}
        for f in fields(Cost):
            if f.name == "kind":
                assert number.kind == symbolic.kind
                continue
            a, b = getattr(number, f.name), getattr(symbolic, f.name)
            assert _close(a, b, values), (call.op, f.name, str(a), str(b))
            checked += isinstance(b, Expr)
    assert checked > 0
