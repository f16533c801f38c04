"""The timed pass in this process: order of its calls, answers that are kept, the null program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch

from costlab.measurement.backend import Action, Block, MemoryPeaks
from costlab.measurement.cpu import CpuBackend
from costlab.measurement.judge_results import ResultCheck, judge_results
from costlab.measurement.point import PointSpec
from costlab.measurement.program import Runnable, prepare_runnable
from costlab.measurement.timed_pass import timed_pass, timer_cost_s, varied_signature
from costlab.measurement.timing import TimingPlan
from costlab.sources.program import program_from
from tests.rules.allocations import threads

_SPEC = PointSpec("x", {"n": 2})
_BRIEF = TimingPlan(warmup_s=0.05, min_samples=3, min_time_s=0.0, max_time_s=0.1)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As a worker times by default: on a busy machine a second thread keeps the first waiting."""
    with threads(1):
        yield


class RecordingBackend:
    """The CPU, with a list of what was asked of it."""

    uuid = ""

    def __init__(self, retries: Iterable[int] = ()) -> None:
        self.order: list[str] = []
        self._retries = iter(retries)
        self._cpu = CpuBackend(cache_bytes=1000)

    def time(self, action: Action, calls: int) -> Block:
        if not calls:
            return Block(1e-7, 1e-7)
        self.order.append("start")
        block = self._cpu.time(action, calls)
        self.order.append("stop")
        return block

    def make_cold(self) -> None:
        self.order.append("cold")

    def synchronize(self) -> None:
        self.order.append("synchronize")

    def retries(self) -> int | None:
        return next(self._retries, None)

    def peaks(self, action: Action, before_bytes: int) -> MemoryPeaks:
        raise AssertionError("memory has a pass of its own")


def _runnable(call: Callable[..., object], *inputs: torch.Tensor, **spec: Any) -> Runnable:
    point = PointSpec("x", {"n": 2}, **spec)
    return prepare_runnable(program_from((call, inputs), point.mode), point)


def _flags(make: Callable[[], Callable[..., object]], *, dtype: str = "float32") -> tuple[str, ...]:
    """Flags of the program that ``make`` makes, one for the timed process and one fresh."""
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))
    message = timed_pass(_SPEC, CpuBackend(), _runnable(make(), x.clone()), _BRIEF, vary=True)
    fresh = varied_signature(_runnable(make(), x.clone()))
    check = ResultCheck.from_json(message["check"])
    return judge_results(check, fresh, dtype)


def _product() -> Callable[..., object]:
    def call(x: torch.Tensor) -> torch.Tensor:
        return x @ x.T @ x

    return call


def _keeps_by_address() -> Callable[..., object]:
    kept: dict[int, torch.Tensor] = {}

    def call(x: torch.Tensor) -> torch.Tensor:
        if x.data_ptr() not in kept:
            kept[x.data_ptr()] = x @ x.T @ x
        return kept[x.data_ptr()]

    return call


def _keeps_by_value() -> Callable[..., object]:
    """Right in every answer, and yet the timed calls compute nothing."""
    kept: dict[tuple[float, ...], torch.Tensor] = {}

    def call(x: torch.Tensor) -> torch.Tensor:
        key = tuple(x[0, :4].tolist())
        if key not in kept:
            answer = x
            for _ in range(200):
                answer = torch.tanh(answer @ x)
            kept[key] = answer
        return kept[key]

    return call


def _first_call_differs() -> Callable[..., object]:
    calls: list[int] = []

    def call(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x + len(calls)

    return call


@pytest.mark.parametrize(
    ("make", "flags"),
    [
        (_product, ()),
        (_keeps_by_address, ("cached_result",)),
        (_keeps_by_value, ("cached_result",)),
        (_first_call_differs, ("result_changed",)),
    ],
)
def test_programs_that_do_not_compute_their_answer_are_caught(
    make: Callable[[], Callable[..., object]], flags: tuple[str, ...]
) -> None:
    assert _flags(make) == flags


def test_dropout_is_no_changed_result() -> None:
    def make() -> Callable[..., object]:
        return lambda x: torch.dropout(x, 0.5, True)

    assert _flags(make) == ()


def test_the_same_answer_for_scaled_inputs_is_not_called_kept() -> None:
    def make() -> Callable[..., object]:
        return lambda x: torch.nn.functional.layer_norm(x, (64,), eps=0.0)

    assert _flags(make) == ()


def test_zeros_are_named() -> None:
    message = timed_pass(
        _SPEC, CpuBackend(), _runnable(_product(), torch.zeros(8, 8)), _BRIEF, vary=True
    )

    assert message["check"]["constant_inputs"]


def test_nothing_but_the_calls_is_in_the_timed_part() -> None:
    """Emptying the caches, varying inputs and checking answers lie outside start and stop."""
    backend = RecordingBackend()
    log = backend.order
    plan = TimingPlan(
        warmup_s=5.0, warmup_tolerance=1e9, min_samples=2, min_time_s=0.0, max_time_s=1e-9,
        timer_share=1.0, cold_samples=2,
    )  # fmt: skip

    def call(x: torch.Tensor) -> torch.Tensor:
        log.append(f"call {float(x[0]):g}")
        return x + 1

    timed_pass(_SPEC, backend, _runnable(call, torch.tensor([1.0, 2.0])), plan, vary=True)

    timed = ["start", "call 1", "stop"]
    first, warmup, hot = timed, timed * (3 + 7), timed
    cold = ["cold", *timed]
    varied = [
        part
        for value in (0.75, 1.25, 0.875)
        for part in ("start", f"call {value:g}", "stop", *timed)
    ]
    assert log == [*first, *warmup, *hot, *cold, "call 1", *varied]


def test_inputs_have_their_values_again_after_the_pass() -> None:
    x = torch.randn(5, 5)
    runnable = _runnable(_product(), x)
    before = runnable.program.inputs[0].clone()

    timed_pass(_SPEC, CpuBackend(), runnable, _BRIEF, vary=True)

    assert torch.equal(runnable.program.inputs[0], before)


def test_training_is_checked_and_leaves_no_gradient() -> None:
    runnable = _runnable(_product(), torch.randn(9, 9), mode="train")

    message = timed_pass(
        PointSpec("x", {"n": 2}, mode="train"), CpuBackend(), runnable, _BRIEF, vary=True
    )

    assert message["sound"]
    assert all(tensor.grad is None for tensor in runnable.program.held())


def test_no_profiler_is_on_while_timing() -> None:
    runnable = _runnable(_product(), torch.randn(9, 9))

    assert not timed_pass(_SPEC, CpuBackend(), runnable, _BRIEF, vary=False)["profiled"]
    with torch.autograd.profiler.profile():
        assert timed_pass(_SPEC, CpuBackend(), runnable, _BRIEF, vary=False)["profiled"]


def test_the_null_program_takes_next_to_nothing() -> None:
    """What the harness adds to each call: a loop turn and a call through to the program."""
    runnable = _runnable(lambda x: x, torch.randn(3))

    message = timed_pass(_SPEC, CpuBackend(), runnable, TimingPlan(), vary=False)

    assert message["timing"]["median_s"] < 50e-6
    assert message["timing"]["timer_share"] < 5e-4
    assert 0 < timer_cost_s(CpuBackend()) < 20e-6


@pytest.mark.parametrize(("retries", "grown"), [((), 0), ((4, 4), 0), ((4, 7), 3)])
def test_retries_of_the_allocator_are_those_of_the_pass(
    retries: tuple[int, ...], grown: int
) -> None:
    backend = RecordingBackend(retries)
    x = torch.randn(5, 5)

    message = timed_pass(_SPEC, backend, _runnable(torch.exp, x), _BRIEF, vary=False)

    assert message["retries"] == grown
