"""A factory's result becomes a program, or one clear line; a pass runs as its mode says."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable

import pytest
import torch
from torch import nn

from costlab.errors import InputError, ModuleError
from costlab.sources.program import (
    floating_outputs,
    prepare,
    program_from,
    run,
    tensors_of,
    upstream_gradients,
)


def test_a_bound_method_brings_its_module() -> None:
    layer = nn.Linear(3, 5)
    assert program_from((layer.forward, (torch.randn(2, 3),)), "forward").module is layer


def test_a_function_brings_the_modules_it_closes_over() -> None:
    first, second = nn.Linear(3, 5), nn.Linear(5, 7)
    program = program_from((lambda x: second(first(x)), (torch.randn(2, 3),)), "forward")
    held = {id(t) for t in program.held()}
    assert {id(p) for p in (*first.parameters(), *second.parameters())} <= held


@pytest.mark.parametrize(
    ("result", "mode", "said"),
    [
        (nn.Linear(2, 2), "forward", "given: Linear"),
        (None, "forward", "given: None"),
        ((nn.Linear(2, 2),), "forward", "given: (Linear)"),
        ((3, (torch.ones(2),)), "forward", "no callable; given: int"),
        ((nn.Linear(2, 2), (1, 2)), "train", "given: (int, int)"),
        ((nn.Linear(2, 2), {"x": torch.ones(2)}), "forward", "given: dict"),
        ((nn.Linear(2, 2), (torch.ones(2),)), "decode", "decode needs a state"),
        ((nn.Linear(2, 2), (torch.ones(2),), (1,)), "decode", "holds no tensor"),
    ],
)
def test_another_result_is_named(result: object, mode: str, said: str) -> None:
    with pytest.raises(ModuleError) as caught:
        program_from(result, mode)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_mode_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="forward, train, prefill, decode"):
        program_from((nn.Linear(2, 2), (torch.ones(2),)), "backward")


_State = tuple[torch.Tensor, ...]


def _whole(x: torch.Tensor, state: object) -> object:
    return state


def _annotated(x: torch.Tensor, state: _State) -> object:
    return state


def _spread(x: torch.Tensor, keys: object, values: object) -> object:
    return (keys, values)


def _optional(x: torch.Tensor, keys: object = None, values: object = None) -> object:
    return (keys, values)


def _masked(x: torch.Tensor, state: object, mask: object = None) -> object:
    return state if mask is None else "spread by mistake"


@pytest.mark.parametrize("call", [_whole, _annotated, _spread, _optional, _masked])
def test_a_pair_as_state_arrives_as_a_pair(call: Callable[..., object]) -> None:
    state = (torch.zeros(1), torch.ones(1))
    program = program_from((call, (torch.ones(1),), state), "decode")
    assert program.call(*program.arguments) == state


def test_a_single_state_arrives_as_the_annotation_says() -> None:
    hidden = torch.zeros(1)

    def plain(x: torch.Tensor, hidden: torch.Tensor) -> object:
        return hidden

    for call, expected in ((plain, hidden), (_annotated, (hidden,))):
        program = program_from((call, (torch.ones(1),), (hidden,)), "decode")
        assert program.call(*program.arguments) == expected
    alone = program_from((plain, (torch.ones(1),), hidden), "decode")
    assert alone.call(*alone.arguments) is hidden


def test_torchs_own_cells_take_their_state() -> None:
    x, h, c = torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5)
    lstm = program_from((nn.LSTMCell(3, 5), (x,), (h, c)), "decode")
    gru = program_from((nn.GRUCell(3, 5), (x,), h), "decode")
    for program in (lstm, gru):
        assert next(tensors_of(run(prepare(program, "decode"), "decode"))).shape == (2, 5)


def test_a_module_that_keeps_its_own_state_gets_none() -> None:
    class Keeper(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    cache = torch.zeros(4)
    program = program_from((Keeper(), (torch.ones(2),), (cache,)), "decode")
    assert run(prepare(program, "decode"), "decode") is not None
    assert [t.shape for t in tensors_of(program.state)] == [cache.shape]


def test_prepare_casts_floating_tensors_only_and_keeps_identity() -> None:
    class Parts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.register_buffer("index", torch.arange(3))
            self.register_buffer("phase", torch.ones(3, dtype=torch.complex64))

    module = Parts()
    x, ids = torch.randn(2, 3), torch.arange(2)
    program = prepare(program_from((module.forward, (x, x, ids)), "train"), "train", "bf16")
    first, second, third = program.inputs
    assert first is second
    assert (first.dtype, first.requires_grad, first.is_leaf) == (torch.bfloat16, True, True)
    assert (third.dtype, third.requires_grad) == (torch.int64, False)
    assert module.weight.dtype == torch.bfloat16
    assert module.get_buffer("index").dtype == torch.int64
    assert module.get_buffer("phase").dtype == torch.complex64
    assert x.dtype == torch.float32 and not x.requires_grad


def test_prepare_sets_the_mode_of_the_module() -> None:
    module = nn.Dropout()
    program = program_from((module, (torch.ones(3),)), "forward")
    for mode in ("forward", "train", "prefill"):
        prepare(program, mode)
        assert module.training == (mode == "train")


def test_train_gives_every_floating_output_a_dense_gradient() -> None:
    """Gradients equal those of the sum of all outputs, taken by plain autograd."""
    torch.manual_seed(0)
    module, x = nn.LSTM(3, 5), torch.randn(7, 2, 3)
    program = prepare(program_from((module, (x,)), "train"), "train", "float64")
    gradients = upstream_gradients(program)
    assert [tuple(g.shape) for g in gradients] == [(7, 2, 5), (1, 2, 5), (1, 2, 5)]
    assert all(g.is_contiguous() for g in gradients)
    assert all(p.grad is None for p in module.parameters())
    run(program, "train", gradients)
    twin = x.double().requires_grad_()
    y, (h, c) = module(twin)
    expected = torch.autograd.grad(y.sum() + h.sum() + c.sum(), [twin, *module.parameters()])
    actual = [program.inputs[0].grad, *(p.grad for p in module.parameters())]
    for got, want in zip(actual, expected, strict=True):
        torch.testing.assert_close(got, want)


def test_train_without_gradients_is_an_error() -> None:
    ids = torch.arange(4)
    program = prepare(program_from((lambda i: i + 1, (ids,)), "train"), "train")
    with pytest.raises(ModuleError, match="--mode forward"):
        upstream_gradients(program)


@pytest.mark.parametrize("mode", ["forward", "prefill"])
def test_a_pass_without_training_records_no_graph(mode: str) -> None:
    program = prepare(program_from((nn.Linear(3, 5), (torch.randn(2, 3),)), mode), mode)
    (output,) = tensors_of(run(program, mode))
    assert not output.requires_grad


def test_outputs_are_found_in_nested_containers() -> None:
    Pair = namedtuple("Pair", "left right")
    x, ids = torch.ones(2, requires_grad=True), torch.arange(2)
    y = x * 2
    outputs = OrderedDict(a=[y, ids], b=Pair({"c": x + 1}, None), again=y)
    assert [t.tolist() for t in floating_outputs(outputs)] == [[2.0, 2.0], [2.0, 2.0]]
    assert len(list(tensors_of(outputs))) == 4
