"""The catalogue: names, descriptions without torch, factories and their errors."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import torch
from torch import nn

from costlab.arch import registry
from costlab.errors import SizeError, UnknownNameError

SMALL = {
    "b": 2, "n": 7, "d": 6, "h": 3, "g": 1, "k": 5, "m": 4, "f": 5, "L": 2, "w": 3, "c": 2,
    "R": 2, "r": 2, "p": 3, "q": 4, "G": 1,
}  # fmt: skip
QUANTITIES = {"flop", "peak_bytes", "saved_bytes", "state_bytes", "steps", "parameters"}


def test_names_are_the_architectures() -> None:
    assert registry.names() == tuple(sorted(registry.names()))
    for name in (
        "cross_attention",
        "feed_forward",
        "flash_attention",
        "full_attention",
        "gqa_attention",
        "gru",
        "latent_attention",
        "linear_attention",
        "linformer",
        "longformer",
        "lsh_attention",
        "lstm",
        "rnn",
        "rnn_cell_loop",
        "sliding_window",
        "transformer_block",
    ):
        assert name in registry.names()
    assert not {"spec", "registry", "_sizes", "__init__"} & set(registry.names())


def test_descriptions_are_read_without_torch() -> None:
    code = (
        "import sys; from costlab.arch import registry; "
        "print(len([registry.spec(name) for name in registry.names()]), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(registry.names())), "False"]


@pytest.mark.parametrize("lookup", [registry.spec, registry.load])
def test_unknown_name_carries_the_nearest(lookup: object) -> None:
    assert callable(lookup)
    with pytest.raises(UnknownNameError) as caught:
        lookup("ful_attention")
    assert caught.value.nearest[0] == "full_attention"
    assert "did you mean full_attention" in str(caught.value)


@pytest.mark.parametrize("name", registry.names())
def test_description_agrees_with_the_file(name: str) -> None:
    found = registry.load(name)
    spec = found.spec
    assert spec == registry.spec(name)
    assert spec.name == name
    assert spec.gives_up
    assert spec.claims
    assert {claim.quantity for claim in spec.claims} <= QUANTITIES
    assert {claim.mode for claim in spec.claims} <= set(spec.modes)
    assert set(spec.loops) | set(spec.defaults) | set(spec.ties) <= set(spec.symbols)
    assert ("prefill" in spec.modes) == (found.build_prefill is not None)
    assert ("decode" in spec.modes) == (found.build_decode is not None)


@pytest.mark.parametrize("name", registry.names())
def test_factories_take_the_symbols_and_the_documented_defaults(name: str) -> None:
    found = registry.load(name)
    for factory in (found.build, found.build_prefill, found.build_decode):
        if factory is None:
            continue
        parameters = inspect.signature(factory).parameters
        if factory is found.build:
            options = set(found.spec.options)
        else:
            options = set(found.spec.decode_options) if factory is found.build_decode else set()
        assert set(parameters) == set(found.spec.symbols) | options
        for symbol in found.spec.symbols:
            default = parameters[symbol].default
            if symbol in found.spec.ties:
                assert default is None
            elif default is not inspect.Parameter.empty:
                assert default == found.spec.defaults[symbol]


@pytest.mark.parametrize("name", registry.names())
def test_the_parts_named_core_and_nothing_else_mix_positions(name: str) -> None:
    torch.manual_seed(0)
    found = registry.load(name)
    module, (*others, x) = found.build(**{s: SMALL[s] for s in found.spec.symbols})
    changed = torch.cat((x[:, :1].flip(-1), x[:, 1:]), dim=1)

    def mixes() -> bool:
        return not torch.allclose(module(*others, x)[:, 1:], module(*others, changed)[:, 1:])

    cores = [part for path, part in module.named_modules() if path.split(".")[-1] == "core"]
    assert mixes() == bool(cores) == (name != "feed_forward")
    for core in cores:
        core.register_forward_hook(_silence)
    assert not mixes()


def _silence(module: nn.Module, inputs: object, output: object) -> object:
    if isinstance(output, tuple):
        return tuple(_silence(module, inputs, part) for part in output)
    return torch.zeros_like(output) if isinstance(output, torch.Tensor) else output


@pytest.mark.parametrize("name", registry.names())
@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "8"])
def test_sizes_that_are_not_positive_integers_are_refused(name: str, wrong: object) -> None:
    found = registry.load(name)
    for symbol in found.spec.symbols:
        sizes: dict[str, object] = {s: SMALL[s] for s in found.spec.symbols}
        sizes[symbol] = wrong
        with pytest.raises(SizeError, match=symbol):
            found.build(**sizes)


def _splits_the_width(name: str) -> bool:
    symbols = registry.spec(name).symbols
    return "h" in symbols and "k" not in symbols


@pytest.mark.parametrize("name", [n for n in registry.names() if _splits_the_width(n)])
def test_heads_must_divide_the_width(name: str) -> None:
    found = registry.load(name)
    with pytest.raises(SizeError, match="d=7, h=3"):
        found.build(**({s: SMALL[s] for s in found.spec.symbols} | {"d": 7}))


def test_groups_must_divide_the_heads() -> None:
    sizes = {"b": 2, "n": 7, "d": 6, "h": 8, "g": 3, "k": 2}
    with pytest.raises(SizeError, match=r"h=8, g=3; allowed: h = 6, 9"):
        registry.load("gqa_attention").build(**sizes)
