"""The CUDA backend against a recording stand-in for torch.cuda: order of calls, fields, errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from costlab.errors import InputError
from costlab.measurement.cuda import CudaBackend
from tests.measurement.cuda_fake import L2_BYTES, UUID, Buffer, FakeCuda


def backend_on(
    cuda: FakeCuda,
    device: str = "cuda:0",
    memory_of: Callable[[str, int], tuple[int | None, str]] = lambda _uuid, _pid: (7, ""),
) -> CudaBackend:
    return CudaBackend(device, cuda, lambda count: Buffer(cuda, count), memory_of, cuda.clock)


def test_one_pair_of_events_surrounds_the_calls_and_one_wait_follows() -> None:
    cuda = FakeCuda()
    backend = backend_on(cuda)

    block = backend.time(lambda: cuda.launch(3e-3, host_s=1e-5), 4)

    assert cuda.calls == [
        "synchronize", "record", *["launch"] * 4, "record", "event.synchronize", "synchronize",
    ]  # fmt: skip
    assert block.device_s == pytest.approx(1e-5 + 4 * 3e-3)
    assert block.host_s == pytest.approx(4e-5)


def test_work_issued_before_does_not_run_into_the_block() -> None:
    cuda = FakeCuda()
    backend = backend_on(cuda)
    cuda.launch(50e-3)

    block = backend.time(lambda: cuda.launch(2e-3), 1)

    assert block.device_s == pytest.approx(2e-3)


def test_a_program_of_short_kernels_takes_as_long_as_the_cpu_issues_them() -> None:
    cuda = FakeCuda()

    block = backend_on(cuda).time(lambda: cuda.launch(1e-6, host_s=1e-4), 5)

    assert block.device_s == pytest.approx(5e-4 + 1e-6)
    assert block.host_s == pytest.approx(5e-4)


def test_work_on_another_stream_is_waited_for_and_counted() -> None:
    cuda = FakeCuda()

    def action() -> None:
        cuda.launch(1e-3)
        cuda.side_s = cuda.now_s + 9e-3

    block = backend_on(cuda).time(action, 1)

    assert block.device_s == pytest.approx(9e-3)


def test_no_calls_take_no_time_on_the_device() -> None:
    assert backend_on(FakeCuda()).time(lambda: None, 0).device_s == 0


def test_making_cold_writes_exactly_the_l2_cache_and_ends_before_what_is_timed() -> None:
    cuda = FakeCuda()
    backend = backend_on(cuda)

    for _sample in range(2):
        backend.make_cold()
        backend.time(lambda: cuda.launch(1e-3), 1)

    assert cuda.calls[0] == f"allocate {L2_BYTES}"
    rounds = cuda.calls[1:]
    assert rounds == 2 * [
        "flush", "synchronize",
        "synchronize", "record", "launch", "record", "event.synchronize", "synchronize",
    ]  # fmt: skip


def test_the_timed_pass_opens_no_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_keywords: object) -> None:
        raise AssertionError("a profiler in the timed pass")

    monkeypatch.setattr(torch.autograd.profiler.profile, "__enter__", refuse)
    monkeypatch.setattr(torch.profiler.profile, "__enter__", refuse)
    cuda = FakeCuda()
    backend = backend_on(cuda)

    backend.make_cold()

    assert backend.time(lambda: cuda.launch(1e-3), 3).device_s > 0


def test_memory_is_told_in_layers_and_peaks_are_reset_after_the_warm_up() -> None:
    cuda = FakeCuda()
    backend = backend_on(cuda, memory_of=lambda uuid, _pid: (999, uuid))
    backend.make_cold()
    cuda.hold(10**9, 10**9, 10**9)  # the warm-up's peak, which must not be seen
    library, before = 32 * 2**20, 5000
    cuda.hold(library + before, library + 5120, 64 * 2**20)

    def action() -> str:
        cuda.hold(library + before + 3000, library + 5120 + 3072, 66 * 2**20)
        cuda.hold(library + before + 100, library + 5120 + 512, 66 * 2**20)
        return "output"

    cuda.calls.clear()
    peaks = backend.peaks(action, before)

    assert cuda.calls == ["synchronize", "empty_cache", "reset_peak_memory_stats", "synchronize"]
    assert peaks.peak_bytes == before + 3000
    assert peaks.allocated_bytes == library + 5120 + 3072
    assert peaks.reserved_bytes == 66 * 2**20
    assert peaks.device_bytes == 999
    assert peaks.retries == 0
    assert peaks.counters["library_bytes"] == library
    assert peaks.counters["requested_bytes.all.peak"] == library + before + 3000
    assert peaks.reasons == {}


@pytest.mark.parametrize("counter", ["num_alloc_retries", "num_ooms"])
def test_a_retry_of_the_allocator_during_the_call_is_counted(counter: str) -> None:
    cuda = FakeCuda()
    cuda.stats[counter] = 3
    cuda.hold(1, 512, 2**21)

    def action() -> None:
        cuda.stats[counter] += 1

    backend = backend_on(cuda)

    assert backend.peaks(action, 1).retries == 1
    assert backend.retries() == 4


def test_a_driver_figure_that_is_missing_has_its_reason() -> None:
    cuda = FakeCuda()
    cuda.hold(1, 512, 2**21)
    backend = backend_on(cuda, memory_of=lambda _uuid, _pid: (None, "ids of the host"))

    peaks = backend.peaks(lambda: None, 1)

    assert peaks.device_bytes is None
    assert peaks.reasons == {"device_bytes": "ids of the host"}


def test_an_allocator_that_counts_no_requests_is_named() -> None:
    cuda = FakeCuda()
    cuda.hold(0, 4096, 2**21)

    def action() -> None:
        cuda.hold(0, 6144, 2**21)

    peaks = backend_on(cuda).peaks(action, 4000)

    assert peaks.peak_bytes == 4000 + 2048
    assert "requested_bytes" in peaks.reasons


def test_the_device_is_known_by_its_uuid_and_made_the_current_one() -> None:
    cuda = FakeCuda(devices=3)
    asked: list[str] = []

    def memory_of(uuid: str, _pid: int) -> tuple[int | None, str]:
        asked.append(uuid)
        return 1, ""

    backend = backend_on(cuda, "cuda:2", memory_of)
    cuda.hold(1, 512, 2**21)
    backend.peaks(lambda: None, 1)

    assert cuda.current == torch.device("cuda", 2)
    assert backend.uuid == f"GPU-{UUID}"
    assert asked == [backend.uuid]


def test_no_driver_is_one_line_with_cudas_reason() -> None:
    with pytest.raises(InputError, match="Found no NVIDIA driver") as raised:
        backend_on(FakeCuda(devices=0))

    assert "\n" not in str(raised.value)


def test_a_device_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"cuda:0, cuda:1"):
        backend_on(FakeCuda(devices=2), "cuda:2")


def test_this_torch_without_a_device_says_why() -> None:
    """The real ``torch.cuda`` of a machine without a GPU."""
    if torch.cuda.is_available():
        assert CudaBackend("cuda").uuid.startswith("GPU-")
    else:
        with pytest.raises(InputError, match="CUDA cannot be used here"):
            CudaBackend("cuda")
