"""Which processes use a GPU, through three versions of NVML's list, with a check of its sense.

Drivers of the series R525 and R535 changed the structure: read with another version, process ids
and bytes are swapped or out of range. So each version is tried, and its answer has to make sense.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from costlab.devices.nvml_session import NvmlFailed, NvmlSession
from costlab.devices.readings import Reading, missing

_FUNCTION = "nvmlDeviceGetComputeRunningProcesses"
_INSUFFICIENT_SIZE = 7
# Process ids of Linux end at 2**22, those of Windows are 32 bits wide but small in practice.
_MOST_PID = 2**24


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process with a compute context; ``memory_bytes`` None where the driver does not say."""

    pid: int
    memory_bytes: int | None


class _InfoV1(ctypes.Structure):
    _fields_ = (("pid", ctypes.c_uint), ("usedGpuMemory", ctypes.c_ulonglong))


def gpu_processes(
    session: NvmlSession,
    handle: Any,
    memory_bytes: int | None = None,
    where: frozenset[str] = frozenset(),
) -> tuple[tuple[GpuProcess, ...] | None, Reading]:
    """The processes on one GPU and their number as a reading.

    Args:
        session: an open NVML.
        handle: of the device.
        memory_bytes: of the device, which no process can exceed.
        where: further kinds of place, such as "mig".
    """
    garbled = None
    failure = None
    for version in (3, 2, 1):
        try:
            found = _list(session, handle, version)
        except NvmlFailed as failed:
            failure = failure or failed
            continue
        if _sensible(found, memory_bytes):
            source = f"{_FUNCTION}_v{version}"
            return tuple(found), Reading(len(found), "", source)
        garbled = version
    if garbled is not None:
        return None, missing("", "process_list_garbled")
    assert failure is not None
    return None, session.missing("processes", "", failure, where)


def process_memory(
    processes: Sequence[GpuProcess], pid: int, where: frozenset[str] = frozenset()
) -> Reading:
    """Bytes that ``pid`` has on the GPU.

    Args:
        processes: of the GPU.
        pid: as this process sees it; in a container NVML knows it by another number.
        where: kinds of place, such as "container", "windows", "wsl".
    """
    for process in processes:
        if process.pid == pid:
            if process.memory_bytes is None:
                place = {"windows": "wddm", "wsl": "wsl"}
                reasons = [reason for name, reason in place.items() if name in where]
                return missing("B", *reasons[:1] or ["no_process_memory"])
            return Reading(process.memory_bytes, "B", _FUNCTION)
    return missing("B", "container_pids" if "container" in where else "not_found")


def _list(session: NvmlSession, handle: Any, version: int) -> list[GpuProcess]:
    if version == 1:
        return _list_v1(session, handle)
    return [
        GpuProcess(
            int(entry.pid), None if entry.usedGpuMemory is None else int(entry.usedGpuMemory)
        )
        for entry in session.call(f"{_FUNCTION}_v{version}", handle)
    ]


def _list_v1(session: NvmlSession, handle: Any) -> list[GpuProcess]:
    """The list as drivers before R510 return it; the binding has no function for it any more."""
    query = session.pointer(_FUNCTION)
    count = ctypes.c_uint(0)
    code = query(handle, ctypes.byref(count), None)
    if code == 0:
        return []
    if code == _INSUFFICIENT_SIZE:
        # Room for processes that start in between.
        count = ctypes.c_uint(2 * count.value + 5)
        entries = (_InfoV1 * count.value)()
        code = query(handle, ctypes.byref(count), entries)
    if code != 0:
        raise session.failure(code)
    unknown = ctypes.c_ulonglong(-1).value
    return [
        GpuProcess(entry.pid, None if entry.usedGpuMemory == unknown else entry.usedGpuMemory)
        for entry in entries[: count.value]
    ]


def _sensible(found: Sequence[GpuProcess], memory_bytes: int | None) -> bool:
    most = memory_bytes if memory_bytes is not None else 2**50
    return all(
        0 < process.pid < _MOST_PID
        and (process.memory_bytes is None or process.memory_bytes <= most)
        for process in found
    )
