"""One pass traced: what is saved, what is alive, against counts made by other means."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.errors import ModuleError
from costlab.measurement.memory import allocator_peak
from costlab.sources.program import plain_tensors, prepare, program_from, run, upstream_gradients
from costlab.trace.records import Trace
from costlab.trace.run import quiet_collector, trace
from tests.reference import modules13
from tests.trace.programs import (
    Block,
    Custom,
    Picks,
    Plain,
    Recomputed,
    Remembers,
    Writes,
    WritesView,
    names,
    program,
    traced,
)

Make = Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]
SMALL = {"b": 3, "n": 7, "d": 10}

MODULES: dict[str, Make] = {
    "block": lambda: (Block(10, 23), (torch.randn(3, 7, 10),)),
    "eager attention": lambda: modules13.attention_eager(**SMALL, h=2),
    "linear attention": lambda: modules13.linear_attention(**SMALL),
    "scan": lambda: modules13.ssm_scan(**SMALL, s=3),
    "gru": lambda: modules13.gru(**SMALL),
    "own backward": lambda: (
        nn.Sequential(nn.Linear(10, 17), Custom(), nn.Linear(17, 10)),
        (torch.randn(3, 7, 10),),
    ),
    "writes": lambda: (nn.Sequential(Writes(), nn.Linear(10, 4)), (torch.randn(3, 7, 10),)),
    "write into a view": lambda: (WritesView(10), (torch.randn(3, 7, 10),)),
    "plain tensors": lambda: (Plain(10), (torch.randn(3, 7, 10),)),
    "picks": lambda: (Picks(), (torch.randn(3, 7, 10),)),
    "norms": lambda: (
        nn.Sequential(nn.Linear(10, 40), nn.SiLU(), nn.Linear(40, 10), nn.RMSNorm(10)),
        (torch.randn(5, 10),),
    ),
}


def saved_by_hooks(module: nn.Module, inputs: tuple[Tensor, ...]) -> int:
    """Bytes of the distinct storages that autograd asks to keep, but the module's own."""
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        module(*inputs)
    held = {
        t.untyped_storage().data_ptr()
        for t in (*module.parameters(), *(t for _, t in plain_tensors(module)))
    }
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in kept}
    return sum(nbytes for pointer, nbytes in storages.items() if pointer not in held)


def saved(found: Trace) -> int:
    return sum(
        s.nbytes for s in found.storages if s.saved and s.kind not in ("parameters", "buffers")
    )


# Of what a write into a view keeps, inputs are not seen: they were alive before.
@pytest.mark.parametrize("name", [name for name in MODULES if name != "writes"])
def test_saved_storages_are_those_autograd_packs(name: str) -> None:
    module, inputs = MODULES[name]()
    expected = saved_by_hooks(module, tuple(x.requires_grad_() for x in inputs))
    assert saved(traced(module, *inputs, mode="train")) == expected > 0


def test_plain_tensors_are_alive_from_the_start() -> None:
    module = Plain(10)
    found = traced(module, torch.randn(3, 7, 10))
    held = [item for item in found.held if item.kind == "buffers"]
    assert [(item.name, item.shape) for item in held] == [("scales", (10,)), ("shift", (1, 7, 1))]
    assert all(found.storages[item.storage].birth == -1 for item in held)


def test_what_a_module_keeps_for_itself_is_not_saved_for_backward() -> None:
    found = traced(Remembers(10), torch.randn(3, 10), mode="train")
    forward = [s for s in found.storages if 0 <= s.birth < found.forward_ops]
    assert [s.saved for s in forward if s.nbytes == 4 * 3 * 10] == [False, False]


def test_fused_attention_saves_its_operands_output_and_row_sums() -> None:
    q, k, v = (torch.randn(2, 3, n, 8) for n in (5, 6, 6))
    found = traced(F.scaled_dot_product_attention, q, k, v, mode="train")
    assert saved(found) == 4 * 2 * 3 * (5 * 8 + 6 * 8 + 6 * 8 + 5 * 8 + 5)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_recomputed_part_saves_nothing_of_its_inside(reentrant: bool) -> None:
    """Only the layer before it keeps its input; what is inside comes back in the backward pass."""
    found = traced(Recomputed(8, reentrant), torch.randn(5, 8), mode="train")
    inside = [s for s in found.storages if s.birth >= 0 and s.nbytes == 4 * 5 * 24]
    assert inside
    assert not any(s.saved for s in inside)
    assert any(s.saved and s.birth == -1 and s.nbytes == 4 * 5 * 8 for s in found.storages)


def profiled_peak(
    module: nn.Module, inputs: tuple[Tensor, ...], mode: str, dtype: str = "float32"
) -> int:
    """Most bytes alive by the allocator's events, with what was alive before."""
    made = program(module, *inputs, mode=mode, dtype=dtype)
    gradients = upstream_gradients(made) if mode == "train" else ()
    peak = allocator_peak(lambda: run(made, mode, gradients))
    return peak + sum(t.untyped_storage().nbytes() for t in (*made.held(), *gradients))


@pytest.mark.parametrize("mode", ["forward", "train"])
@pytest.mark.parametrize("name", MODULES)
def test_the_most_that_is_alive_is_what_the_allocator_saw(name: str, mode: str) -> None:
    module, inputs = MODULES[name]()
    found = traced(module, *inputs, mode=mode)
    assert abs(max(found.live_bytes()) - profiled_peak(module, inputs, mode)) <= 64


@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputation_is_alive_when_the_allocator_saw_it(reentrant: bool) -> None:
    module, inputs = Recomputed(16, reentrant), (torch.randn(40, 16),)
    found = traced(module, *inputs, mode="train")
    assert abs(max(found.live_bytes()) - profiled_peak(module, inputs, "train")) <= 64


def test_gradients_have_their_kind_and_stay() -> None:
    module = nn.Linear(4, 6)
    found = traced(module, torch.randn(5, 4), mode="train")
    gradients = [s for s in found.storages if s.kind == "gradients"]
    assert sorted(s.nbytes for s in gradients) == [4 * 6, 4 * 5 * 4, 4 * 4 * 6]
    assert all(s.birth >= found.forward_ops and s.death > len(found.ops) for s in gradients)


def test_the_upstream_gradient_is_dense_and_exists_before() -> None:
    found = traced(nn.Linear(4, 6), torch.randn(5, 4), mode="train")
    assert [(h.kind, h.name, h.shape) for h in found.held] == [
        ("parameters", "weight", (6, 4)),
        ("parameters", "bias", (6,)),
        ("inputs", "0", (5, 4)),
        ("inputs", "gradient 0", (5, 6)),
    ]
    assert "sum" in names(found.ops)
    assert "expand" not in names(found.ops)


def test_a_decode_step_has_a_state_before_and_after() -> None:
    def step(x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        keys, values = torch.cat((keys, x), 1), torch.cat((values, x), 1)
        return F.softmax(x @ keys.mT, -1) @ values, (keys, values)

    state = (torch.randn(2, 6, 4), torch.randn(2, 6, 4))
    made = prepare(program_from((step, (torch.randn(2, 1, 4),), state), "decode"), "decode")
    found = trace(made, "decode", {"b": 2})
    assert [(h.name, h.shape) for h in found.held if h.kind == "state"] == [
        ("0", (2, 6, 4)), ("1", (2, 6, 4)),
    ]  # fmt: skip
    assert [h.shape for h in found.left] == [(2, 7, 4), (2, 7, 4)]
    assert all(found.storages[h.storage].result for h in found.left)


def test_two_traces_of_one_program_are_equal() -> None:
    module, inputs = modules13.gru(**SMALL)
    first, second = (traced(module, *inputs, mode="train") for _ in range(2))
    assert [r.token() for r in first.ops] == [r.token() for r in second.ops]
    assert first.storages == second.storages


def test_reference_cycles_do_not_move_deaths() -> None:
    """A storage in a cycle lives to the end of the run, whenever a collection would be due."""

    def call(x: Tensor) -> Tensor:
        ring: list[Any] = [x.exp()]
        ring.append(ring)
        del ring
        for _ in range(20):
            x = x.sin()
        return x

    found = traced(call, torch.randn(4))
    assert [s.death > len(found.ops) for s in found.storages if s.birth == 0] == [True]


def test_an_error_of_the_module_is_one_line_with_the_sizes() -> None:
    def call(x: Tensor) -> Tensor:
        return x @ x

    made = program(call, torch.randn(2, 3))
    with pytest.raises(ModuleError, match="RuntimeError") as caught:
        trace(made, "forward", {"b": 2, "d": 3})
    assert "\n" not in str(caught.value)
    assert caught.value.given == "b=2 d=3"


def test_a_tensor_changed_under_autograd_is_the_modules_error() -> None:
    def call(x: Tensor) -> Tensor:
        y = x.exp()
        z = y.sin()
        y.mul_(2)
        return z

    with pytest.raises(ModuleError, match="inplace"):
        traced(call, torch.randn(3), mode="train")


def test_train_needs_something_to_differentiate() -> None:
    with pytest.raises(ModuleError, match="gradients"):
        traced(lambda tokens: tokens + 1, torch.randint(5, (3,)), mode="train")


def test_no_hook_is_left_behind() -> None:
    module = nn.Linear(3, 3)
    before = dict(torch.nn.modules.module._global_forward_hooks)
    traced(module, torch.randn(2, 3), mode="train")
    with pytest.raises(ModuleError):
        traced(module, torch.randn(2, 4))
    assert dict(torch.nn.modules.module._global_forward_hooks) == before
    assert not torch.nn.modules.module._global_forward_pre_hooks


def test_the_collector_is_as_before() -> None:
    gc.enable()
    with quiet_collector():
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_one_within_another_leaves_the_collector_to_the_outer_one() -> None:
    gc.enable()
    with quiet_collector():
        frozen = gc.get_freeze_count()
        with quiet_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
        assert gc.get_freeze_count() == frozen
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
