"""Every entry against its line in ``catalogue.py``, its naive twin, and itself step by step."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from costlab.arch import registry
from costlab.errors import SizeError
from costlab.sources.program import tensors_of
from tests.arch.catalogue import ENTRIES, SIZES, Count, Entry, sizes_of

Inputs = tuple[torch.Tensor, ...]


def _options(name: str) -> list[dict[str, bool]]:
    options = registry.spec(name).options
    return [dict(zip(options, v, strict=True)) for v in itertools.product(*options.values())]


CASES = [
    pytest.param(entry, option, id="-".join([entry.name, *(k for k, v in option.items() if v)]))
    for entry in ENTRIES
    for option in _options(entry.name)
]
DECODING = [entry for entry in ENTRIES if "decode" in registry.spec(entry.name).modes]
STEPS = [
    pytest.param(entry, option, id="-".join([entry.name, *option]))
    for entry in DECODING
    for option in ({}, *({flag: True} for flag in registry.spec(entry.name).decode_options))
]
CAUSAL = [e for e in ENTRIES if e in DECODING or "causal" in registry.spec(e.name).options]


def _buildable(entry: Entry, option: Mapping[str, bool]) -> Iterator[dict[str, int]]:
    """The sizes that the entry accepts: at least three of the five."""
    built = 0
    for sizes in SIZES:
        given = sizes_of(entry, sizes)
        try:
            with torch.device("meta"):
                registry.load(entry.name).build(**given, **option)
        except SizeError:
            continue
        built += 1
        yield given
    assert built >= 3, "give the entry sizes that suit its constraints"


def _build(entry: Entry, given: Mapping[str, int], **option: bool) -> tuple[nn.Module, Inputs]:
    torch.manual_seed(sum(given.values()))
    module, inputs = registry.load(entry.name).build(**given, **option)
    return module.double(), tuple(_double(x) for x in inputs)


def _double(x: torch.Tensor) -> torch.Tensor:
    return x.double() if x.is_floating_point() else x


def _floating(outputs: object) -> list[torch.Tensor]:
    return [y for y in tensors_of(outputs) if y.is_floating_point()]


def _counted(count: Count, given: Mapping[str, int], option: Mapping[str, bool]) -> int:
    named = inspect.signature(count).parameters
    return count(**{name: v for name, v in {**given, **option}.items() if name in named})


def test_every_entry_of_the_catalogue_has_a_line() -> None:
    assert [entry.name for entry in ENTRIES] == list(registry.names())


@pytest.mark.parametrize(("entry", "option"), CASES)
def test_matrix_flop_and_parameters(entry: Entry, option: dict[str, bool]) -> None:
    for given in itertools.islice(_buildable(entry, option), 2):
        with torch.device(entry.device):
            module, inputs = registry.load(entry.name).build(**given, **option)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module(*inputs)
        assert counter.get_total_flops() == _counted(entry.flop, given, option), given
        held = sum(p.numel() for p in module.parameters())
        assert held == _counted(entry.parameters, given, option), given


@pytest.mark.parametrize(("entry", "option"), CASES)
def test_module_equals_its_naive_twin(entry: Entry, option: dict[str, bool]) -> None:
    naive = registry.load(entry.name).naive
    assert naive is not None
    for given in _buildable(entry, option):
        module, inputs = _build(entry, given, **option)
        leaves = [x.requires_grad_() for x in inputs if x.is_floating_point()]
        leaves += [p for p in module.parameters() if p.requires_grad]
        ours, plain = _floating(module(*inputs)), _floating(naive(module, *inputs))
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-11)
        upstream = [torch.randn_like(y) for y in ours]
        got, want = (
            torch.autograd.grad(outputs, leaves, upstream, materialize_grads=True)
            for outputs in (ours, plain)
        )
        torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("entry", "option"), CASES)
def test_operators_do_not_depend_on_the_data(entry: Entry, option: dict[str, bool]) -> None:
    given = next(_buildable(entry, option))
    module, inputs = _build(entry, given, **option)
    sequences = []
    for _ in range(2):
        leaves = [torch.randn_like(x) if x.is_floating_point() else x for x in inputs]
        with _Names() as names:
            outputs = _floating(module(*(_leaf(x) for x in leaves)))
            torch.autograd.backward(outputs, [torch.randn_like(y) for y in outputs])
        module.zero_grad()
        sequences.append(names.seen)
    assert sequences[0] == sequences[1]


def _leaf(x: torch.Tensor) -> torch.Tensor:
    return x.requires_grad_() if x.is_floating_point() else x


class _Names(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("entry", CAUSAL, ids=lambda entry: entry.name)
def test_causal_output_ignores_later_positions(entry: Entry) -> None:
    option = {name: name == "causal" for name in registry.spec(entry.name).options}
    module, (x, *rest) = _build(entry, sizes_of(entry, SIZES[1]), **option)
    # Twice as long vectors: other directions would be hashed into other chunks.
    later = 2 * x[:, 6:] if x.is_floating_point() else x[:, 6:].roll(1, dims=0)
    before, after = module(x, *rest), module(torch.cat((x[:, :6], later), dim=1), *rest)
    torch.testing.assert_close(after[:, :6], before[:, :6], rtol=0, atol=1e-12)
    assert not torch.allclose(after[:, 6:], before[:, 6:])


DECODE_SIZES = {**SIZES[0], "n": 13, "w": 4, "c": 3}


@pytest.mark.parametrize(("entry", "option"), STEPS)
def test_prefill_and_steps_equal_the_causal_whole(entry: Entry, option: dict[str, bool]) -> None:
    found = registry.load(entry.name)
    assert found.build_prefill is not None
    assert found.build_decode is not None
    given = sizes_of(entry, DECODE_SIZES)
    step, _, _ = found.build_decode(**given, **option)
    module: Any = step.__self__.double()  # type: ignore[attr-defined]
    x, *rest = (_double(value) for value in found.build_prefill(**given)[1])
    with torch.no_grad():
        whole = module(x, *rest)
        for start in (1, 2, 5, 9):
            y, state = module.prefill(x[:, :start], *rest)
            torch.testing.assert_close(y, whole[:, :start], rtol=0, atol=1e-12)
            for t in range(start, x.shape[1]):
                y, state = step(x[:, t : t + 1], state)
                torch.testing.assert_close(y, whole[:, t : t + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("entry", "option"), STEPS)
def test_decode_starts_from_the_state_that_prefill_leaves(
    entry: Entry, option: dict[str, bool]
) -> None:
    found = registry.load(entry.name)
    assert found.build_prefill is not None
    assert found.build_decode is not None
    for n in (1, 3, 4, 9):
        given = sizes_of(entry, {**DECODE_SIZES, "n": n})
        prefill, inputs = found.build_prefill(**given)
        step, new, state = found.build_decode(**given, **option)
        y, left = prefill(*inputs)
        assert y.shape[:2] == (given["b"], given["n"])
        assert _forms(left) == _forms(state)
        assert [x.shape[:2] for x in new] == [(given["b"], 1)]
        y, after = step(*new, state)
        assert y.shape[:2] == (given["b"], 1)
        assert torch.isfinite(y).all()
        more, its_inputs = found.build_prefill(**{**given, "n": given["n"] + 1})
        assert _forms(after) == _forms(more(*its_inputs)[1])


def _forms(state: object) -> list[tuple[torch.Size, torch.dtype]]:
    return [(t.shape, t.dtype) for t in tensors_of(state)]


class _Largest(TorchDispatchMode):
    """The bytes of the largest storage that any operator returns."""

    def __init__(self) -> None:
        super().__init__()
        self.nbytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        for value in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(value, torch.Tensor):
                self.nbytes = max(self.nbytes, value.untyped_storage().nbytes())
        return out


def _largest(entry: Entry, n: int, option: dict[str, bool]) -> list[int]:
    """In forward, and in training."""
    sizes = {**SIZES[0], "n": n, "w": 6, "c": 4}
    module, inputs = registry.load(entry.name).build(**sizes_of(entry, sizes), **option)
    with torch.no_grad(), _Largest() as forward:
        module(*inputs)
    with _Largest() as train:
        outputs = _floating(module(*(_leaf(x) for x in inputs)))
        torch.autograd.backward(outputs, [torch.ones_like(y) for y in outputs])
    return [forward.nbytes, train.nbytes]


@pytest.mark.parametrize(("entry", "option"), CASES)
def test_nothing_grows_with_the_square_of_the_length_but_named_scores(
    entry: Entry, option: dict[str, bool]
) -> None:
    for short, long in zip(*(_largest(entry, n, option) for n in (48, 96)), strict=True):
        if entry.square:
            assert long == 4 * short
        else:
            assert short < long <= 2 * short
