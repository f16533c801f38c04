"""NVIDIA GPUs by name, through NVML where its library loads. No CUDA context is made."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Gpu:
    """Identity of one GPU. ``uuid`` maps it to CUDA's numbering, whose order may differ."""

    name: str
    uuid: str
    memory_bytes: int | None
    driver: str


def list_gpus(nvml: Any = None) -> tuple[tuple[Gpu, ...], str]:
    """GPUs that NVML lists, and why there are none ("" where there are some).

    Args:
        nvml: a module with pynvml's functions; None loads pynvml.
    """
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            return (), "the package nvidia-ml-py is not installed"
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return (), f"NVML: {error}"
    try:
        driver = _text(nvml.nvmlSystemGetDriverVersion())
        gpus = tuple(
            _identify(nvml, nvml.nvmlDeviceGetHandleByIndex(index), driver)
            for index in range(nvml.nvmlDeviceGetCount())
        )
    except nvml.NVMLError as error:
        return (), f"NVML: {error}"
    finally:
        nvml.nvmlShutdown()
    return gpus, "" if gpus else "NVML lists no GPU"


def _identify(nvml: Any, handle: Any, driver: str) -> Gpu:
    try:
        memory_bytes: int | None = int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
    except nvml.NVMLError:
        # Unified-memory devices do not support this query.
        memory_bytes = None
    return Gpu(
        name=_text(nvml.nvmlDeviceGetName(handle)),
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        memory_bytes=memory_bytes,
        driver=driver,
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def process_memory_bytes(uuid: str, pid: int, nvml: Any = None) -> tuple[int | None, str]:
    """Bytes the driver has given process ``pid`` on the GPU ``uuid``, or None and why.

    In a container NVML may list the host's process ids, among which ``pid`` is not found.
    """
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            return None, "the package nvidia-ml-py is not installed"
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return None, f"NVML: {error}"
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        processes = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
    except nvml.NVMLError as error:
        return None, f"NVML: {error}"
    finally:
        nvml.nvmlShutdown()
    for process in processes:
        if process.pid == pid:
            if process.usedGpuMemory is None:
                return None, "the driver does not report memory by process"
            return int(process.usedGpuMemory), ""
    return None, "NVML does not list this process (process ids of the host in a container)"
