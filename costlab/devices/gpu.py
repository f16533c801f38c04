"""Reads one NVIDIA GPU through NVML: a value or a reason for each reading, in fixed units."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from costlab.devices.nvml_processes import GpuProcess, gpu_processes, process_memory
from costlab.devices.nvml_session import NvmlFailed, NvmlSession, NvmlUnavailable, text
from costlab.devices.power import read_power
from costlab.devices.readers import NullReader
from costlab.devices.readings import Reading, Sample, missing

GPU_UNITS: Mapping[str, str] = {
    "energy": "J",
    "power": "W",
    "power_instant": "W",
    "power_average": "W",
    "power_limit": "W",
    "sm_clock": "Hz",
    "sm_clock_max": "Hz",
    "memory_clock": "Hz",
    "memory_clock_max": "Hz",
    "throttle": "bits",
    "temperature": "°C",
    "utilisation": "fraction",
    "memory_utilisation": "fraction",
    "memory_used": "B",
    "memory_reserved": "B",
    "memory_total": "B",
    "processes": "",
    "mig": "",
    "persistence": "",
}
"""Unit of every reading of a GPU.

``energy`` counts since the driver was loaded. ``utilisation`` is the share of the driver's last
period in which any kernel ran, so it says nothing of how much of the chip was busy.
"""

_SM, _MEMORY = 1, 2  # nvmlClockType_t
_MEGAHERTZ = 1e6
_TEMPERATURE_GPU = 0
_MEMORY_V2 = 0x02000028  # size and version of nvmlMemory_v2_t


class GpuReader:
    """Reads the GPU or MIG instance with the UUID ``id``.

    Power and energy of a MIG instance do not exist (NVML counts the whole card), so they are
    missing; clocks and temperature are the card's.

    Args:
        session: an open NVML; the reader closes it if ``owns``.
        handle: of the device.
        owns: whether :meth:`close` ends the session.
    """

    kind = "gpu"

    def __init__(self, session: NvmlSession, handle: Any, *, owns: bool = False) -> None:
        self._session = session
        self._handle = handle
        self._owns = owns
        self.id = text(session.call("nvmlDeviceGetUUID", handle))
        self.name = text(session.call("nvmlDeviceGetName", handle))
        self._card = self._card_of(handle)
        self._is_mig = self._card is not handle
        mig = self._mig()
        in_mig = self._is_mig or mig.value == 1
        self._where: frozenset[str] = frozenset({"mig"}) if in_mig else frozenset()

    def read(self) -> Sample:
        """Take every reading; energy and power come first, close to the sample's time."""
        begin_s = time.monotonic()
        readings = self._quick()
        total = readings["memory_total"].value
        readings["processes"] = self.processes(None if total is None else int(total))[1]
        readings["mig"] = self._mig()
        readings["persistence"] = self._ask(
            "persistence", [("nvmlDeviceGetPersistenceMode", (self._card,))]
        )
        ordered = {name: readings[name] for name in GPU_UNITS}
        return Sample(begin_s, time.monotonic() - begin_s, self.id, ordered)

    def read_quick(self) -> Sample:
        """All but the list of processes, which takes milliseconds, and the GPU's switches."""
        begin_s = time.monotonic()
        readings = self._quick()
        return Sample(begin_s, time.monotonic() - begin_s, self.id, readings)

    def read_memory(self) -> Sample:
        """Memory alone, for while something else is measured."""
        begin_s = time.monotonic()
        readings = self._memory()
        return Sample(begin_s, time.monotonic() - begin_s, self.id, readings)

    def read_energy(self) -> Sample:
        """Energy and power alone: cheap enough to be asked every few milliseconds."""
        begin_s = time.monotonic()
        readings = self._energy_and_power()
        return Sample(begin_s, time.monotonic() - begin_s, self.id, readings)

    def processes(
        self, memory_bytes: int | None = None
    ) -> tuple[tuple[GpuProcess, ...] | None, Reading]:
        """The processes on the device, None with a reason where they cannot be listed."""
        return gpu_processes(self._session, self._handle, memory_bytes, self._where)

    def process_memory(self, pid: int) -> Reading:
        """Bytes that the process ``pid`` has on the device."""
        found, count = self.processes()
        if found is None:
            return missing("B", count.reason, count.text)
        return process_memory(found, pid, self._session.places)

    def close(self) -> None:
        """End the session if it is the reader's own."""
        if self._owns:
            self._session.close()

    def _card_of(self, handle: Any) -> Any:
        """The whole card of a MIG instance, else the device itself."""
        try:
            is_mig = self._session.call("nvmlDeviceIsMigDeviceHandle", handle)
            if int(getattr(is_mig, "value", is_mig)):
                return self._session.call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle)
        except NvmlFailed:
            # A driver without MIG has no MIG instances.
            return handle
        return handle

    def _ask(
        self, name: str, calls: list[tuple[str, tuple[Any, ...]]], factor: float = 1.0
    ) -> Reading:
        return self._session.reading(
            name, GPU_UNITS[name], calls, lambda answer: answer * factor, self._where
        )

    def _quick(self) -> dict[str, Reading]:
        readings = self._energy_and_power()
        readings |= self._clocks()
        readings["temperature"] = self._ask(
            "temperature",
            [
                ("nvmlDeviceGetTemperatureV", (self._card, _TEMPERATURE_GPU)),
                ("nvmlDeviceGetTemperature", (self._card, _TEMPERATURE_GPU)),
            ],
        )
        readings |= self._utilisation()
        return readings | self._memory()

    def _energy_and_power(self) -> dict[str, Reading]:
        names = ("energy", "power", "power_instant", "power_average")
        if self._is_mig:
            return {name: missing(GPU_UNITS[name], "mig_whole_card") for name in names}
        energy = self._ask(
            "energy", [("nvmlDeviceGetTotalEnergyConsumption", (self._handle,))], 1e-3
        )
        return {"energy": energy, **read_power(self._session, self._handle, self._where)}

    def _clocks(self) -> dict[str, Reading]:
        readings = {
            name: self._ask(name, [(function, (self._card, kind))], _MEGAHERTZ)
            for name, function, kind in (
                ("sm_clock", "nvmlDeviceGetClockInfo", _SM),
                ("sm_clock_max", "nvmlDeviceGetMaxClockInfo", _SM),
                ("memory_clock", "nvmlDeviceGetClockInfo", _MEMORY),
                ("memory_clock_max", "nvmlDeviceGetMaxClockInfo", _MEMORY),
            )
        }
        readings["throttle"] = self._ask(
            "throttle",
            [
                ("nvmlDeviceGetCurrentClocksEventReasons", (self._card,)),
                ("nvmlDeviceGetCurrentClocksThrottleReasons", (self._card,)),
            ],
        )
        readings["power_limit"] = self._ask(
            "power_limit", [("nvmlDeviceGetPowerManagementLimit", (self._card,))], 1e-3
        )
        return readings

    def _utilisation(self) -> dict[str, Reading]:
        function = "nvmlDeviceGetUtilizationRates"
        try:
            rates = self._session.call(function, self._handle)
        except NvmlFailed as failure:
            return {
                name: self._session.missing(name, "fraction", failure, self._where)
                for name in ("utilisation", "memory_utilisation")
            }
        return {
            "utilisation": Reading(rates.gpu / 100, "fraction", function),
            "memory_utilisation": Reading(rates.memory / 100, "fraction", function),
        }

    def _memory(self) -> dict[str, Reading]:
        """Memory by the second version of the query; the first counts the reserve as used."""
        function = "nvmlDeviceGetMemoryInfo"
        version = self._session.constant("nvmlMemory_v2", _MEMORY_V2)
        try:
            index, info = self._session.first(
                [(function, (self._handle, version)), (function, (self._handle,))]
            )
        except NvmlFailed as failure:
            return {
                name: self._session.missing(name, "B", failure, self._where)
                for name in ("memory_used", "memory_reserved", "memory_total")
            }
        source = f"{function}{'_v2' if index == 0 else ', used includes the reserve'}"
        return {
            "memory_used": Reading(info.used, "B", source),
            "memory_total": Reading(info.total, "B", source),
            "memory_reserved": Reading(info.reserved, "B", source)
            if index == 0
            else missing("B", "driver_too_old"),
        }

    def _mig(self) -> Reading:
        calls = [("nvmlDeviceGetMigMode", (self._card,))]
        return self._session.reading("mig", "", calls, lambda modes: modes[0])


def open_gpus(
    module: Any = None, where: frozenset[str] | None = None
) -> list[GpuReader | NullReader]:
    """A reader for each GPU in NVML's order (that of the PCI bus), sharing one session.

    Closing the first one that reads closes all. A GPU that does not answer (lost, in need of a
    reset) is a null reader with the reason.

    Raises:
        NvmlUnavailable: if NVML does not start or lists no GPU.
    """
    session = NvmlSession(module, where)
    try:
        count = session.call("nvmlDeviceGetCount")
    except NvmlFailed as failure:
        session.close()
        raise _unavailable(session, failure) from None
    readers: list[GpuReader | NullReader] = []
    for index in range(count):
        owns = not any(isinstance(reader, GpuReader) for reader in readers)
        try:
            handle = session.call("nvmlDeviceGetHandleByIndex", index)
            readers.append(GpuReader(session, handle, owns=owns))
        except NvmlFailed as failure:
            lost = session.missing("", "", failure)
            readers.append(NullReader("gpu", GPU_UNITS, lost.reason, lost.text, id=f"gpu{index}"))
    if not any(isinstance(reader, GpuReader) for reader in readers):
        session.close()
    if not readers:
        raise NvmlUnavailable("no_gpu")
    return readers


def _handle(session: NvmlSession, uuid: str) -> Any:
    names = [uuid] if uuid.startswith(("GPU-", "MIG-")) else [f"GPU-{uuid}", f"MIG-{uuid}"]
    for name in names[:-1]:
        try:
            return session.call("nvmlDeviceGetHandleByUUID", name)
        except NvmlFailed:
            continue
    return session.call("nvmlDeviceGetHandleByUUID", names[-1])


def _unavailable(session: NvmlSession, failure: NvmlFailed) -> NvmlUnavailable:
    lost = session.missing("", "", failure)
    return NvmlUnavailable(lost.reason, lost.text)


def open_gpu(uuid: str, module: Any = None, where: frozenset[str] | None = None) -> GpuReader:
    """A reader of the GPU or MIG instance ``uuid`` with a session of its own.

    Args:
        uuid: as NVML writes it ("GPU-...", "MIG-..."), or as CUDA does, without these letters.
        module: a module with pynvml's functions; pynvml if None.
        where: the kinds of place; found out if None.

    Raises:
        NvmlUnavailable: if NVML does not start or does not know the device.
    """
    session = NvmlSession(module, where)
    try:
        return GpuReader(session, _handle(session, uuid), owns=True)
    except NvmlFailed as failure:
        session.close()
        raise _unavailable(session, failure) from None
