"""Stacks of equal layers: found only where layers really are equal, cut by exactly that much."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from costlab.sources.layers import find_equal_layers, layer_count, shrink_equal_layers


class Block(nn.Module):
    """A block with the kinds of attributes that real ones have."""

    def __init__(self, d: int, i: int, *, p: float = 0.1, dilation: int = 1) -> None:
        super().__init__()
        self.layer_idx = i
        self.scale = d**-0.5
        self.dilation = dilation
        self.act: Callable[[torch.Tensor], torch.Tensor] = torch.relu
        self.drop = nn.Dropout(p)
        self.inner = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.register_buffer("mask", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.drop(self.act(self.inner(x)))
        return x + y


class Model(nn.Module):
    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.embed = nn.Linear(3, 5)
        self.body = nn.ModuleDict({"layers": layers})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        layers = self.body["layers"]
        assert isinstance(layers, nn.ModuleList)
        for layer in layers:
            x = layer(x)
        return x


def parameters(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_a_list_is_cut_by_exactly_the_removed_layers() -> None:
    model = Model(nn.ModuleList(Block(5, i) for i in range(96)))
    one, embedding, before = parameters(Block(5, 0)), parameters(nn.Linear(3, 5)), parameters(model)
    assert before == embedding + 96 * one
    assert layer_count(model) == 96
    result = shrink_equal_layers(model, 4)
    assert result is not None
    cut, stack = result
    assert cut is model
    assert (stack.path, stack.count, stack.parameters) == ("body.layers", 96, one)
    assert parameters(model) == before - 92 * one
    assert model(torch.ones(2, 3)).shape == (2, 5)


def test_a_sequential_at_the_root_is_cut() -> None:
    model = nn.Sequential(*(Block(5, i) for i in range(11)))
    x = torch.randn(2, 5)
    model.eval()
    expected = model[2](model[1](model[0](x)))
    result = shrink_equal_layers(model, 3)
    assert result is not None and (result[1].path, result[1].count) == ("", 11)
    torch.testing.assert_close(model(x), expected)


def test_the_same_layer_many_times_is_a_stack() -> None:
    block = Block(5, 0)
    model = Model(nn.ModuleList([block] * 12))
    before = parameters(model)
    result = shrink_equal_layers(model, 2)
    assert result is not None and result[1].count == 12
    assert parameters(model) == before


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda i: Block(5, i, p=0.05 * i), "dropout grows"),
        (lambda i: Block(5, i, dilation=i + 1), "a number that is not the layer's number"),
        (lambda i: Block(5 if i < 11 else 6, i), "another width"),
        (lambda i: Block(5, i).double() if i == 3 else Block(5, i), "another dtype"),
        (lambda i: Block(5, i).eval() if i == 3 else Block(5, i), "another mode"),
        (lambda i: nn.Linear(5, 5, bias=i != 7), "a bias less"),
        (lambda i: nn.Linear(5, 5) if i % 2 else nn.ReLU(), "classes alternate"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_unequal_layers_are_left_alone(make: Callable[[int], nn.Module], reason: str) -> None:
    model = Model(nn.ModuleList(make(i) for i in range(12)))
    before = parameters(model)
    assert shrink_equal_layers(model, 2) is None
    assert layer_count(model) == 0
    assert parameters(model) == before


def test_an_activation_that_differs_is_seen() -> None:
    layers = nn.ModuleList(Block(5, i) for i in range(9))
    assert layer_count(layers) == 9
    odd = layers[4]
    assert isinstance(odd, Block)
    odd.act = torch.tanh
    assert layer_count(layers) == 0


def test_small_stacks_are_no_stacks_and_the_largest_is_cut() -> None:
    assert layer_count(nn.Sequential(*(nn.Linear(2, 2) for _ in range(7)))) == 0
    model = nn.ModuleDict(
        {
            "encoder": nn.ModuleList(nn.Linear(2, 2) for _ in range(8)),
            "decoder": nn.ModuleList(nn.Linear(2, 2) for _ in range(10)),
        }
    )
    found = [(stack.path, stack.count) for stack in find_equal_layers(model)]
    assert found == [("encoder", 8), ("decoder", 10)]
    result = shrink_equal_layers(model, 3)
    assert result is not None and result[1].path == "decoder"
    assert [len(list(child.children())) for child in model.values()] == [8, 3]


def test_torchs_own_encoder_is_a_stack() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
    assert [(s.path, s.count) for s in find_equal_layers(model)] == [("layers", 12)]
