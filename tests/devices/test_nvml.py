"""GPUs through a stand-in for NVML: no driver is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from costlab.devices.nvml import Gpu, list_gpus, process_memory_bytes


class NVMLError(Exception):
    """What the binding raises."""


class FakeNvml:
    """Two GPUs; functions named in ``broken`` raise."""

    NVMLError = NVMLError

    def __init__(self, *broken: str) -> None:
        self.broken = broken
        self.open = 0

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("nvml") and name in object.__getattribute__(self, "broken"):

            def refuse(*_args: object) -> None:
                raise NVMLError(f"{name} Not Supported")

            return refuse
        return object.__getattribute__(self, name)

    def nvmlInit(self) -> None:
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"570.1"

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:
        return int(uuid[-1])

    def nvmlDeviceGetName(self, handle: int) -> str:
        return f"GPU model {handle}"

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(total=1000 + handle)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return [
            SimpleNamespace(pid=11, usedGpuMemory=500 + handle),
            SimpleNamespace(pid=12, usedGpuMemory=None),
        ]


def test_gpus_are_listed_with_their_identity() -> None:
    nvml = FakeNvml()

    gpus, reason = list_gpus(nvml)

    assert gpus == (
        Gpu("GPU model 0", "GPU-0", 1000, "570.1"),
        Gpu("GPU model 1", "GPU-1", 1001, "570.1"),
    )
    assert reason == ""
    assert nvml.open == 0


def test_an_unsupported_query_is_unknown_and_not_zero() -> None:
    gpus, _reason = list_gpus(FakeNvml("nvmlDeviceGetMemoryInfo"))

    assert [gpu.memory_bytes for gpu in gpus] == [None, None]


def test_a_failing_library_gives_its_words_as_reason() -> None:
    for function in ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetName"):
        gpus, reason = list_gpus(FakeNvml(function))

        assert gpus == ()
        assert function in reason


def test_process_memory_is_found_by_pid() -> None:
    assert process_memory_bytes("GPU-1", 11, FakeNvml()) == (501, "")


def test_process_memory_that_is_missing_has_a_reason() -> None:
    for pid, broken in ((12, ()), (99, ()), (11, ("nvmlDeviceGetComputeRunningProcesses",))):
        memory, reason = process_memory_bytes("GPU-0", pid, FakeNvml(*broken))

        assert memory is None
        assert reason
