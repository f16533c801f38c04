"""NVIDIA GPUs by identity, through NVML where its library loads. No CUDA context is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from costlab.devices.gpu import open_gpu
from costlab.devices.nvml_session import NvmlFailed, NvmlSession, NvmlUnavailable, text


@dataclass(frozen=True, slots=True)
class Gpu:
    """Identity of one GPU and the settings that change what is measured on it.

    ``uuid`` maps it to CUDA's numbering, whose order may differ. ``power_limit_w`` is the cap that
    is set, ``mig`` and ``persistence`` whether these modes are on. None is unknown.
    """

    name: str
    uuid: str
    memory_bytes: int | None
    driver: str
    pci: str | None = None
    power_limit_w: float | None = None
    mig: bool | None = None
    persistence: bool | None = None


def list_gpus(nvml: Any = None) -> tuple[tuple[Gpu, ...], str]:
    """GPUs that NVML lists, and why there are none ("" where there are some).

    Args:
        nvml: a module with pynvml's functions; None loads pynvml.
    """
    try:
        session = NvmlSession(nvml)
    except NvmlUnavailable as unavailable:
        return (), unavailable.text
    try:
        driver = text(session.call("nvmlSystemGetDriverVersion"))
        gpus = tuple(
            _identify(session, session.call("nvmlDeviceGetHandleByIndex", index), driver)
            for index in range(session.call("nvmlDeviceGetCount"))
        )
    except NvmlFailed as failure:
        return (), session.missing("", "", failure).text
    finally:
        session.close()
    return gpus, "" if gpus else NvmlUnavailable("no_gpu").text


def mig_uuids(session: NvmlSession, handle: Any) -> tuple[str, ...]:
    """UUIDs of the MIG instances on one card; none where there is no MIG."""
    try:
        count = session.call("nvmlDeviceGetMaxMigDeviceCount", handle)
    except NvmlFailed:
        return ()
    uuids = []
    for index in range(count):
        try:
            instance = session.call("nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
            uuids.append(text(session.call("nvmlDeviceGetUUID", instance)))
        except NvmlFailed:
            # Fewer instances exist than the card can have.
            continue
    return tuple(uuids)


def process_memory_bytes(uuid: str, pid: int, nvml: Any = None) -> tuple[int | None, str]:
    """Bytes the driver has given process ``pid`` on the GPU ``uuid``, or None and why.

    In a container NVML may list the host's process ids, among which ``pid`` is not found.
    """
    try:
        reader = open_gpu(uuid, nvml)
    except NvmlUnavailable as unavailable:
        return None, unavailable.text
    try:
        reading = reader.process_memory(pid)
    finally:
        reader.close()
    return None if reading.value is None else int(reading.value), reading.text


def _identify(session: NvmlSession, handle: Any, driver: str) -> Gpu:
    def known(convert: Callable[[Any], Any], function: str, *arguments: Any) -> Any:
        try:
            return convert(session.call(function, handle, *arguments))
        except NvmlFailed:
            return None

    return Gpu(
        name=text(session.call("nvmlDeviceGetName", handle)),
        uuid=text(session.call("nvmlDeviceGetUUID", handle)),
        # Unified-memory devices do not support this query.
        memory_bytes=known(lambda info: int(info.total), "nvmlDeviceGetMemoryInfo"),
        driver=driver,
        pci=known(lambda info: text(info.busId).lower(), "nvmlDeviceGetPciInfo"),
        power_limit_w=known(lambda mw: mw / 1000, "nvmlDeviceGetPowerManagementLimit"),
        mig=known(lambda modes: bool(modes[0]), "nvmlDeviceGetMigMode"),
        persistence=known(bool, "nvmlDeviceGetPersistenceMode"),
    )
