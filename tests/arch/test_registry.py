"""The catalogue: names, descriptions without torch, factories and their errors."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys

import pytest
import torch
from torch import nn

from costlab.arch import registry
from costlab.errors import SizeError, UnknownNameError
from costlab.sources.program import tensors_of
from tests.arch.catalogue import ENTRIES, SIZES, Entry, sizes_of

each_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
QUANTITIES = {"flop", "peak_bytes", "saved_bytes", "state_bytes", "steps", "parameters"}


def test_names_are_the_architectures() -> None:
    assert registry.names() == tuple(sorted(registry.names()))
    assert {"full_attention", "lstm", "transformer_block"} <= set(registry.names())
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


@each_entry
def test_the_parts_named_core_and_nothing_else_mix_positions(entry: Entry) -> None:
    torch.manual_seed(0)
    module, inputs = registry.load(entry.name).build(**sizes_of(entry, SIZES[0]))
    if next(tensors_of(module(*inputs))).dim() == 0:
        return  # one number for all positions, such as a loss
    changed = tuple(torch.cat((_other(x[:, :1]), x[:, 1:]), dim=1) for x in inputs)

    def mixes() -> bool:
        before, after = (next(tensors_of(module(*given))) for given in (inputs, changed))
        return not torch.allclose(before[:, 1:], after[:, 1:])

    cores = [part for path, part in module.named_modules() if path.split(".")[-1] == "core"]
    assert mixes() == bool(cores)
    for core in cores:
        core.register_forward_hook(_silence)
    assert not mixes()


def _other(x: torch.Tensor) -> torch.Tensor:
    return x.flip(-1) if x.is_floating_point() else x.roll(1, dims=0)


def _silence(module: nn.Module, inputs: object, output: object) -> object:
    if isinstance(output, tuple):
        return tuple(_silence(module, inputs, part) for part in output)
    return torch.zeros_like(output) if isinstance(output, torch.Tensor) else output


@each_entry
def test_sizes_that_are_not_positive_integers_are_refused(entry: Entry) -> None:
    build = registry.load(entry.name).build
    good: dict[str, object] = {**sizes_of(entry, SIZES[0])}
    with torch.device("meta"):
        for symbol, wrong in itertools.product(good, (0, -1, 2.5, True, "8")):
            with pytest.raises(SizeError, match=symbol):
                build(**{**good, symbol: wrong})


@pytest.mark.parametrize(
    "entry",
    [e for e in ENTRIES if "h divides d" in registry.spec(e.name).constraints],
    ids=lambda entry: entry.name,
)
def test_heads_must_divide_the_width(entry: Entry) -> None:
    with pytest.raises(SizeError, match="d=7, h=3"):
        registry.load(entry.name).build(**{**sizes_of(entry, SIZES[0]), "d": 7, "h": 3})
