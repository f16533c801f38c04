"""Operators, storages, lifetimes and places of small programs whose truth is plain to see."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.graph import TensorSpec
from costlab.trace.records import ALIVE
from tests.trace.programs import Custom, Recomputed, Writes, by_module, names, traced

HERE = Path(__file__).name


def line_of(function: Callable[..., object], text: str) -> str:
    """``file:line`` of the line of ``function`` that contains ``text``."""
    lines, start = inspect.getsourcelines(function)
    (number,) = (i for i, line in enumerate(lines) if text in line)
    return f"{HERE}:{start + number}"


def test_views_are_not_recorded() -> None:
    def call(x: Tensor) -> Any:
        y = x.transpose(0, 1)[1:].unsqueeze(0).expand(3, -1, -1).detach()
        return y.exp()[0].mT[1:].unflatten(1, (3, -1)).chunk(2, dim=1)[0]

    found = traced(call, torch.randn(5, 7))
    assert names(found.ops) == ["exp"]
    assert found.ops[0].outs[0].shape == (3, 6, 5)
    argument = found.ops[0].args["self"]
    assert isinstance(argument, TensorSpec)
    assert argument.shape == (3, 6, 5)
    assert argument.stride == (0, 1, 7)
    assert argument.storage == found.held[0].storage


def test_a_reshape_that_copies_is_recorded() -> None:
    found = traced(lambda x: x.T.reshape(-1), torch.randn(3, 5))
    assert names(found.ops) == ["clone"]


def test_storages_die_when_their_last_name_goes() -> None:
    def call(x: Tensor) -> Tensor:
        y = x.exp()
        z = y.sin()
        del y
        u = z.cos()
        return u + z

    found = traced(call, torch.randn(3, 5))
    assert names(found.ops) == ["exp", "sin", "cos", "add"]
    # x, y, z, u, result: y is dropped before cos runs, z and u when the call returns.
    assert [(s.birth, s.death) for s in found.storages] == [
        (-1, ALIVE), (0, 2), (1, 4), (2, 4), (3, ALIVE),
    ]  # fmt: skip
    assert [s.nbytes for s in found.storages] == [60] * 5
    assert found.live_bytes() == [120, 180, 180, 240]
    assert [s.result for s in found.storages] == [False, False, False, False, True]


def test_what_an_expression_makes_on_the_way_lives_while_it_is_read() -> None:
    found = traced(lambda x: x.exp().sin().cos(), torch.randn(2, 3))
    assert [(s.birth, s.death) for s in found.storages][1:] == [(0, 2), (1, 3), (2, ALIVE)]
    assert found.live_bytes() == [48, 72, 72]


def test_a_view_keeps_its_whole_storage_alive() -> None:
    found = traced(lambda x: (x.exp()[0] + 1, x.sin())[0], torch.randn(50, 3))
    exp, add, sin = found.storages[1:]
    assert (exp.nbytes, add.nbytes, sin.nbytes) == (600, 12, 600)
    assert (exp.death, add.death, sin.death) == (2, ALIVE, 3)


def test_operators_in_place_make_no_storage() -> None:
    def call(x: Tensor) -> Tensor:
        y = x.exp().mul_(2)
        y[1].add_(1)
        return torch.neg(y, out=y)

    found = traced(call, torch.randn(3, 5))
    assert names(found.ops) == ["exp", "mul_", "add_", "neg"]
    assert [record.new for record in found.ops] == [(True,), (False,), (False,), (False,)]
    assert len(found.storages) == 2
    made = found.ops[0].writes
    assert [record.writes for record in found.ops] == [made] * 4
    assert [made[0] in record.reads for record in found.ops] == [False, True, True, True]


def test_an_input_that_views_a_larger_block_holds_the_block() -> None:
    found = traced(lambda x: x + 1, torch.randn(100)[:10])
    assert [s.nbytes for s in found.storages] == [400, 40]


def test_shared_storages_are_held_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.into, self.out = nn.Embedding(11, 6), nn.Linear(6, 11, bias=False)
            self.out.weight = self.into.weight
            self.register_buffer("scale", torch.ones(3, 7))

        def forward(self, tokens: Tensor) -> Tensor:
            y: Tensor = self.out(self.into(tokens))
            return y

    found = traced(Tied(), torch.randint(11, (2, 5)))
    assert [(h.kind, h.name, h.shape) for h in found.held] == [
        ("parameters", "into.weight", (11, 6)),
        ("buffers", "scale", (3, 7)),
        ("inputs", "0", (2, 5)),
    ]


def test_lists_of_tensors_and_scalars_are_arguments() -> None:
    found = traced(lambda x, y: torch.cat([x, y, x], dim=1), torch.randn(2, 3), torch.randn(2, 4))
    (record,) = found.ops
    tensors = record.args["tensors"]
    assert isinstance(tensors, tuple)
    assert [t.shape for t in tensors if isinstance(t, TensorSpec)] == [(2, 3), (2, 4), (2, 3)]
    assert record.args["dim"] == 1
    assert record.reads == (0, 1)


# -- places ---------------------------------------------------------------------------------------


def test_two_modules_in_sequence() -> None:
    module = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    found = traced(module, torch.randn(2, 5, 4), mode="train")
    assert by_module(found, "forward") == {"0": ["addmm"], "1": ["tanh"], "2": ["addmm"]}
    assert by_module(found, "backward") == {
        "2": ["mm", "mm", "sum"],
        "1": ["tanh_backward"],
        "0": ["mm", "mm", "sum"],
    }
    assert found.forward_ops == 3


def test_a_shared_module_keeps_one_name() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(4, 4, bias=False)
            self.b = self.a

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.b(self.a(x).exp()) * 2
            return y

    found = traced(Shared(), torch.randn(3, 4), mode="train")
    assert by_module(found, "forward") == {"a": ["mm", "mm"], "": ["exp", "mul"]}
    backward = by_module(found, "backward")
    # The second gradient of the weight is added to the first.
    assert sorted(backward["a"]) == ["add_", "mm", "mm", "mm", "mm"] or sorted(backward["a"]) == [
        "add", "mm", "mm", "mm", "mm",
    ]  # fmt: skip
    assert backward[""] == ["mul", "mul"]


def test_nested_modules_and_the_code_between_them() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU()))

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.inner(x.exp()).sin()
            return y

    found = traced(Outer(), torch.randn(3, 4), mode="train")
    assert by_module(found, "forward") == {
        "": ["exp", "sin"], "inner.0": ["addmm"], "inner.1.0": ["relu"],
    }  # fmt: skip
    backward = by_module(found, "backward")
    assert backward["inner.1.0"] == ["threshold_backward"]
    assert backward["inner.0"] == ["mm", "mm", "sum"]
    assert backward[""] == ["cos", "mul", "mul"]


def test_a_function_with_its_own_backward() -> None:
    module = nn.Sequential(nn.Linear(4, 4), Custom(), nn.Linear(4, 4))
    found = traced(module, torch.randn(3, 4), mode="train")
    assert by_module(found, "forward")["1"] == ["exp", "mul"]
    assert by_module(found, "backward")["1"] == ["mul", "add", "mul"]


def test_writes_into_views_belong_to_their_module_in_both_passes() -> None:
    module = nn.Sequential(nn.Linear(4, 4), Writes(), nn.Linear(4, 4))
    found = traced(module, torch.randn(3, 2, 4), mode="train")
    assert set(by_module(found, "forward")) == {"0", "1", "2"}
    backward = by_module(found, "backward")
    assert set(backward) == {"0", "1", "2"}
    assert backward["0"] == backward["2"] == ["mm", "mm", "sum"]


@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputation_belongs_to_the_module_that_runs_again(reentrant: bool) -> None:
    module = Recomputed(4, reentrant)
    found = traced(module, torch.randn(3, 4), mode="train")
    assert by_module(found, "forward") == {
        "first": ["addmm"], "second.0": ["addmm"], "second.1": ["gelu"], "second.2": ["addmm"],
    }  # fmt: skip
    backward = by_module(found, "backward")
    # One form stops as soon as everything saved is there again, the other runs to the end.
    assert backward["second.0"] == ["addmm", "mm", "mm", "sum"]
    assert backward["second.1"] == ["gelu", "gelu_backward"]
    assert backward["second.2"] == ["addmm"] * reentrant + ["mm", "mm", "sum"]
    assert backward["first"] == ["mm", "mm", "sum"]
    assert module.calls == 2


def test_lines_are_those_of_the_program_in_both_passes() -> None:
    def call(x: Tensor) -> Tensor:
        y = x.exp()
        return F.silu(y)

    found = traced(call, torch.randn(3), mode="train")
    assert [Path(record.where).name for record in found.ops] == [
        line_of(call, "x.exp()"),
        line_of(call, "F.silu(y)"),
        line_of(call, "F.silu(y)"),
        line_of(call, "x.exp()"),
    ]


def test_a_module_of_torch_alone_has_no_line() -> None:
    assert [record.where for record in traced(nn.Linear(3, 4), torch.randn(2, 3)).ops] == [""]
