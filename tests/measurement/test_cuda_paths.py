"""The ways of timing on CUDA against the recording stand-in."""

from __future__ import annotations

import functools

import pytest

from costlab.errors import InputError
from costlab.measurement.cpu import CpuBackend
from costlab.measurement.cuda_paths import PATHS, time_path
from tests.measurement.cuda_fake import FakeCuda
from tests.measurement.test_cuda import backend_on

_DEVICE_S, _HOST_S = 2e-5, 3e-4


def action_of(cuda: FakeCuda, kernels: int = 5) -> None:
    for _kernel in range(kernels):
        cuda.launch(_DEVICE_S, host_s=_HOST_S)


@pytest.mark.parametrize("path", PATHS)
def test_gradients_are_dropped_before_each_sample_and_never_inside(path: str) -> None:
    cuda = FakeCuda()

    times = time_path(
        backend_on(cuda), path, lambda: action_of(cuda), lambda: cuda.log("between"), samples=3
    )

    assert len(times.samples_s) == 3
    assert times.reasons == {}
    inside = False
    for name in cuda.calls:
        if name == "record":
            inside = not inside
        assert not (inside and name == "between")


@pytest.mark.parametrize(("path", "flushes"), [("hot", 0), ("cold", 4), ("held", 0), ("graph", 0)])
def test_only_the_cold_path_flushes_once_before_each_sample(path: str, flushes: int) -> None:
    cuda = FakeCuda()

    time_path(backend_on(cuda), path, lambda: action_of(cuda), lambda: None, samples=4)

    assert cuda.calls.count("flush") == flushes
    inside = False
    for name in cuda.calls:
        if name == "record":
            inside = not inside
        assert not (inside and name == "flush")


def test_hot_and_cold_wait_for_the_cpu_and_held_and_graph_do_not() -> None:
    found = {}
    for path in PATHS:
        cuda = FakeCuda()
        action = functools.partial(action_of, cuda)
        found[path] = time_path(backend_on(cuda), path, action, lambda: None, samples=3)

    assert found["hot"].device_s == pytest.approx(5 * _HOST_S + _DEVICE_S)
    assert found["cold"].device_s == found["hot"].device_s
    assert found["held"].device_s == pytest.approx(5 * _DEVICE_S)
    assert found["graph"].device_s == pytest.approx(5 * _DEVICE_S)
    assert found["held"].host_s == pytest.approx(5 * _HOST_S)
    assert found["graph"].host_s == 0


def test_the_stream_is_held_before_anything_is_recorded() -> None:
    cuda = FakeCuda()

    time_path(backend_on(cuda), "held", lambda: action_of(cuda, 1), lambda: None, samples=1)

    last = len(cuda.calls) - 1 - cuda.calls[::-1].index("sleep")
    assert cuda.calls[last - 1 :] == [
        "synchronize", "sleep", "record", "launch", "record", "query", "synchronize",
    ]  # fmt: skip


def test_a_clock_that_ramps_up_makes_the_hold_longer() -> None:
    """The waiting kernel was timed at a low clock: the hold ends too early and is doubled."""
    cuda = FakeCuda(cycles_per_s=1e9)

    def action() -> None:
        cuda.cycles_per_s = 8e9
        action_of(cuda)

    times = time_path(backend_on(cuda), "held", action, lambda: None, samples=2)

    assert times.device_s == pytest.approx(5 * _DEVICE_S)


def test_a_call_that_waits_for_the_device_cannot_be_held() -> None:
    cuda = FakeCuda()

    def action() -> None:
        action_of(cuda)
        cuda.synchronize(None)

    times = time_path(backend_on(cuda), "held", action, lambda: None)

    assert times.device_s is None
    assert "waits for the device" in times.reasons["device_s"]
    assert times.host_s is not None


def test_a_failed_capture_is_a_reason() -> None:
    cuda = FakeCuda()
    cuda.capture_error = "operation not permitted when stream is capturing\nmore"

    times = time_path(backend_on(cuda), "graph", lambda: action_of(cuda), lambda: None)

    assert times.device_s is None
    assert times.reasons["device_s"].endswith("operation not permitted when stream is capturing")


def test_a_capture_follows_warm_calls_on_a_side_stream() -> None:
    cuda = FakeCuda()

    time_path(backend_on(cuda), "graph", lambda: action_of(cuda, 1), lambda: None, samples=1)

    assert cuda.calls[:8] == [
        "wait_stream", "side stream", "launch", "launch", "launch", "main stream", "wait_stream",
        "capture",
    ]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_retries_of_the_allocator_are_told(path: str) -> None:
    cuda = FakeCuda()

    def action() -> None:
        action_of(cuda)
        cuda.stats["num_alloc_retries"] = 2

    times = time_path(backend_on(cuda), path, action, lambda: None, samples=2)

    assert times.retries == 2


def test_a_cpu_has_no_held_stream_and_no_graph_and_says_so() -> None:
    backend = CpuBackend(cache_bytes=1000)
    found = {path: time_path(backend, path, lambda: None, lambda: None, 2) for path in PATHS}

    assert found["hot"].device_s == found["hot"].host_s
    assert len(found["cold"].samples_s) == 2
    assert found["held"].device_s is None and "CPU" in found["held"].reasons["device_s"]
    assert found["graph"].device_s is None and "CPU" in found["graph"].reasons["host_s"]
    assert found["hot"].retries is None


def test_an_unknown_path_names_those_there_are() -> None:
    with pytest.raises(InputError, match="hot, cold, held, graph"):
        time_path(CpuBackend(1000), "warm", lambda: None, lambda: None)
