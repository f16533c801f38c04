"""Runs with symbolic sizes: dimensions, guards and their lines, and the shims they run under."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from costlab.algebra import symbol
from costlab.derivation.relations import SizeReader
from costlab.errors import ModuleError
from costlab.sources.program import Program, prepare
from costlab.trace.records import Trace
from costlab.trace.shims import symbolic_integers
from costlab.trace.symbolic import SpecialisedError, SymbolicSizes, place_of, run_symbolically


def symbols(**hints: int) -> SymbolicSizes:
    sizes = SymbolicSizes(hints)
    sizes.read = SizeReader(sizes.names, dict.fromkeys(hints, 2)).expression
    return sizes


def traced(
    sizes: SymbolicSizes, call: Callable[[Tensor], object], shape: tuple[str, ...], mode: str
) -> Trace:
    def build() -> Program:
        x = torch.randn([sizes.integers[name] for name in shape])
        return prepare(Program(call, (x,)), mode)

    return run_symbolically(build, mode, sizes, ())


def test_dimensions_and_storages_are_expressions() -> None:
    b, n, d = symbol("b"), symbol("n"), symbol("d")

    found = traced(symbols(b=8, n=8, d=8), lambda x: x @ x.mT, ("b", "n", "d"), "forward")

    assert [op.op for op in found.ops] == ["aten.bmm.default"]
    assert found.ops[0].outs[0].shape == (b, n, n)
    assert found.ops[0].args["mat2"].stride == (n * d, 1, d)  # type: ignore[union-attr]
    assert found.live_bytes() == [4 * b * n * d + 4 * b * n * n]


def test_a_full_slice_leaves_no_trace_in_backward() -> None:
    found = traced(symbols(b=4, n=64, d=32), lambda x: x[:, 3] * 2, ("b", "n", "d"), "train")

    assert [op.op for op in found.ops if "slice" in op.op] == []
    assert [op.op for op in found.ops if "select_backward" in op.op] != []


def test_a_branch_is_a_guard_with_its_line() -> None:
    def branch(x: Tensor) -> Tensor:
        return x + 1 if x.shape[0] > 20 else x * 2

    sizes = symbols(n=64)
    traced(sizes, branch, ("n",), "forward")

    (guard,) = sizes.conditions()
    assert str(guard.node).endswith("> 20")
    where = f"{__name__}.{test_a_branch_is_a_guard_with_its_line.__name__}.<locals>.branch "
    assert guard.place.startswith(where)
    assert guard.place.endswith("(return x + 1 if x.shape[0] > 20 else x * 2)")


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x * len(range(x.shape[0])),
        lambda x: x * float(x.shape[0]),
        lambda x: x * int(2 * x.shape[0]),
        lambda x: x * len([0] * x.shape[0]),
    ],
    ids=["range", "float", "int", "repeat"],
)
def test_a_size_made_a_number_stops_the_run(use: Callable[[Tensor], object]) -> None:
    with pytest.raises(ModuleError) as caught:
        traced(symbols(n=64), use, ("n",), "forward")

    cause = caught.value.__cause__
    assert isinstance(cause, SpecialisedError)
    assert place_of(cause).startswith(f"{__name__}.<lambda> (")


INDICES: list[Any] = [
    1, -1, slice(None), slice(1, None), slice(None, 2), slice(0, 3), slice(None, None, 2), None,
    ..., (slice(None), 1), (..., 1), (1, ..., 1), (None, 1), (slice(None), None, 2), (1, 2, 3),
    (slice(None), slice(None), slice(1, 3)), (..., None), (None, ..., slice(None, 1), 0),
    (slice(None),) * 3, (slice(-2, None), -1), (slice(None, 99), slice(5, 2)),
    torch.tensor([0, 1]), (slice(None), torch.tensor([0, 1])), [0, 1], True,
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_indexing_is_torchs(index: Any) -> None:
    x = torch.arange(4 * 5 * 6.0).view(4, 5, 6).requires_grad_()
    expected = x[index]
    with symbolic_integers():
        found = x[index]

    assert found.shape == expected.shape
    assert torch.equal(found, expected)
    assert found.untyped_storage()._cdata == expected.untyped_storage()._cdata or (
        found.untyped_storage()._cdata != x.untyped_storage()._cdata
    )
    (gradient,) = torch.autograd.grad(found.square().sum(), x)
    (wanted,) = torch.autograd.grad(expected.square().sum(), x)
    assert torch.equal(gradient, wanted)


def test_numbers_are_numbers_under_the_shims() -> None:
    with symbolic_integers():
        assert isinstance(3, numbers.Integral)
        assert not isinstance(3.0, numbers.Integral)
        assert issubclass(bool, numbers.Integral)
        assert (math.sqrt(9), min(3, 2), max([1, 5]), min((), default=4)) == (3.0, 2, 5, 4)
        assert nn.init.ones_(torch.zeros(2)).tolist() == [0, 0]
    assert nn.init.ones_(torch.zeros(2)).tolist() == [1, 1]
