"""Which classes a run with symbolic sizes proves, why it does not prove others, what it leaves."""

from __future__ import annotations

import builtins
import logging
import math
import numbers
from collections.abc import Callable, Mapping

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import costlab
from costlab.derivation.classes import ClassFound, size_models
from costlab.derivation.engine import derive_class
from costlab.derivation.proof import Proof, prove
from costlab.derivation.work import SourceTracer, tracing
from costlab.errors import SizeError
from costlab.sources.resolve import resolve
from costlab.sources.source import Source
from costlab.sources.user import from_callable

Made = tuple[nn.Module, tuple[Tensor, ...]]


def fitted(
    source: Source, mode: str, dtype: str = "float32", options: Mapping[str, bool] | None = None
) -> tuple[SourceTracer, ClassFound]:
    """The main class of a source, and what traces it."""
    tracer = SourceTracer(source, mode, dtype, options or {})
    model = size_models(source.symbols, source.constraints, mode)[0]
    return tracer, ClassFound(derive_class(tracer, model, "cpu", source.loops), model.domain())


def proof_of(
    target: str | Callable[..., object],
    mode: str,
    dtype: str = "float32",
    options: Mapping[str, bool] | None = None,
) -> Proof:
    source = resolve(target) if isinstance(target, str) else from_callable(target)
    with tracing("cpu"):
        return prove(*fitted(source, mode, dtype, options))


# -- proved --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["forward", "train"])
@pytest.mark.parametrize(
    "name", ["full_attention", "flash_attention", "feed_forward", "linear_attention"]
)
def test_plain_layers_are_proved(name: str, mode: str) -> None:
    found = proof_of(name, mode)

    assert (found.proved, found.reason) == (True, "")


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("flash_attention", "prefill"),
        ("full_attention", "decode"),
        ("linear_attention", "decode"),
        ("sliding_window", "decode"),
    ],
)
def test_passes_with_a_state_are_proved(name: str, mode: str) -> None:
    assert proof_of(name, mode).proved


def test_causal_chunks_whose_size_divides_the_length_are_proved_but_for_the_mask() -> None:
    found = proof_of("linear_attention", "train", options={"causal": True})

    assert found.proved
    assert "flop_useful" in found.reason


def test_half_precision_is_proved() -> None:
    assert proof_of("full_attention", "train", "bfloat16").proved


class Encoder(nn.Module):
    """Torch's own layer, with indexing of the result."""

    def __init__(self, d: int, h: int, f: int) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d, h, f, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)
        return y[:, 0] + y[:, -1]


def encoder(b: int, n: int, d: int, h: int, f: int) -> Made:
    return Encoder(d, h, f), (torch.randn(b, n, d),)


def test_torchs_encoder_layer_with_dropout_is_proved_in_training() -> None:
    assert proof_of(encoder, "train").proved


def test_torchs_encoder_layer_takes_another_way_for_odd_head_counts() -> None:
    found = proof_of(encoder, "forward")

    assert not found.proved
    assert any("Mod(h, 2)" in condition for condition in found.conditions)


def test_sizes_of_one_are_named_where_the_domain_has_them() -> None:
    assert proof_of("feed_forward", "forward").conditions == (
        "b >= 2",
        "n >= 2",
        "d >= 2",
        "f >= 2",
    )


# -- not proved ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mode", "reason"),
    [
        ("rnn", "forward", "passes of a loop are counted one by one (n)"),
        ("lsh_attention", "forward", "2**r as a number, costlab.arch.lsh_attention."),
        ("sliding_window", "train", "w as a number, costlab.ops.windows."),
    ],
)
def test_a_reason_names_the_cause(name: str, mode: str, reason: str) -> None:
    found = proof_of(name, mode)

    assert not found.proved
    assert reason in found.reason


class Mixer(nn.Module):
    """One linear layer, and what ``act`` does with its result."""

    def __init__(self, d: int, act: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layer = nn.Linear(d, d)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.layer(x))


def squares_if_long(y: Tensor) -> Tensor:
    if y.shape[1] > 20:
        return y * y
    return y + y


def squares_if_very_long(y: Tensor) -> Tensor:
    return y + y if y.shape[1] <= 20_000 else y * y


def counts(y: Tensor) -> Tensor:
    return y * sum(range(y.shape[1]))


def branching(b: int, n: int, d: int) -> Made:
    return Mixer(d, squares_if_long), (torch.randn(b, n, d),)


def late(b: int, n: int, d: int) -> Made:
    return Mixer(d, squares_if_very_long), (torch.randn(b, n, d),)


def counting(b: int, n: int, d: int) -> Made:
    return Mixer(d, counts), (torch.randn(b, n, d),)


def specialising(b: int, n: int, d: int) -> Made:
    return nn.Linear(int(d), d), (torch.randn(b, n, d),)


@pytest.mark.parametrize("mode", ["forward", "train"])
@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        (branching, "n > 20, {}.squares_if_long (if y.shape[1] > 20:)"),
        (counting, "it needs n as a number, {}.counts (return y * sum(range(y.shape[1])))"),
        (specialising, "it needs d as a number, {}.specialising (return nn.Linear(int(d), d)"),
    ],
    ids=["branch", "range", "width"],
)
def test_a_reason_names_the_guard_and_its_code(
    factory: Callable[..., object], reason: str, mode: str
) -> None:
    found = proof_of(factory, mode)

    assert not found.proved
    assert reason.format(__name__) in found.reason


# -- what is left behind -------------------------------------------------------------------------


def world() -> tuple[object, ...]:
    """Everything that the symbolic run changes."""
    return (
        numbers.Integral,
        math.sqrt,
        builtins.min,
        builtins.max,
        F.scaled_dot_product_attention,
        nn.init.uniform_.__code__,
        nn.init.xavier_uniform_.__code__,
        logging.root.manager.disable,
        torch._C._len_torch_function_stack(),
        torch._C._len_torch_dispatch_stack(),
        issubclass(torch.SymInt, numbers.Integral),
    )


def broken(b: int, n: int, d: int) -> Made:
    if not isinstance(d, int):
        raise RuntimeError(f"no integer: {type(d).__name__}")
    return nn.Linear(d, d), (torch.randn(b, n, d),)


@pytest.mark.parametrize(
    "factory", ["feed_forward", broken, counting], ids=["sound", "broken", "counting"]
)
def test_everything_is_as_before_whatever_happens(factory: str | Callable[..., object]) -> None:
    before = world()

    proof_of(factory, "train")

    assert world() == before
    assert nn.init.ones_(torch.zeros(2)).tolist() == [1, 1]


def test_an_error_of_the_factory_is_the_reason() -> None:
    found = proof_of(broken, "forward")

    assert not found.proved
    assert f"RuntimeError: no integer: SymInt, {__name__}.broken (" in found.reason


# -- in derive -----------------------------------------------------------------------------------


def test_derive_says_whether_the_main_class_is_proved() -> None:
    proved = costlab.derive("feed_forward")
    not_proved = costlab.derive(branching)

    assert proved.derived == "proved"
    assert not_proved.derived == "verified"
    assert any(note.startswith("not proved: ") and "n > 20" in note for note in not_proved.proof)


def test_an_upper_bound_that_the_proof_finds_is_part_of_the_domain() -> None:
    found = costlab.derive(late)

    assert found.derived == "proved"
    assert all("n <= 20000" in map(str, c.domain) for c in found.classes)
    assert found.evaluate("flop", b=3, n=20_000, d=5)["flop"] > 0
    with pytest.raises(SizeError):
        found.evaluate("flop", b=3, n=20_001, d=5)


@pytest.mark.parametrize("mode", ["forward", "train", "prefill", "decode"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_attention_by_cudas_kernels_is_proved(mode: str, dtype: str) -> None:
    found = costlab.derive("flash_attention", mode=mode, dtype=dtype, backend="cuda")

    assert found.derived == "proved"
    # Torch's flash kernel, for half precision, takes heads of up to 256.
    assert ("k <= 256" in map(str, found.classes[0].domain)) == (dtype == "bfloat16")


def test_derive_without_a_proof_is_verified() -> None:
    found = costlab.derive("feed_forward", prove=False)

    assert (found.derived, found.proof) == ("verified", ())
