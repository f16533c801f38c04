"""A stand-in for the library behind NVIDIA's binding: two GPUs, set up by one line of text.

The same text sets up ``fake_nvml.c``, a real shared object. Entries are separated by ";":

    fail=FUNCTION:CODE      the function returns CODE
    field=ID/SCOPE:CODE     one field of nvmlDeviceGetFieldValues returns CODE
    devices=N               number of GPUs (2)
    watts=A,B,S             power is A W up to second S, then B W (250,250,0)
    tick=MS                 time that passes with each query of the energy counter (10 ms)
    sm=A,B,C                SM clocks in MHz, one per query; the last one stays (1980)
    throttle=BITS           event reasons (0)
    processes=PID:BYTES,..  compute processes; BYTES -1 is "not available" (11:500,12:-1)
    garble=VERSIONS         versions of the process list whose entries are swapped (none)
    mig=1                   MIG is on, and device 0 has one instance

The energy counter steps every 100 ms of that time, and power averages look back one second.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pynvml
import pytest

UUIDS = ("GPU-11111111-aaaa-bbbb-cccc-000000000001", "GPU-22222222-aaaa-bbbb-cccc-000000000002")
MIG_UUID = "MIG-33333333-aaaa-bbbb-cccc-000000000003"
# NVML counts along the bus; CUDA would count the fast one first.
NAMES = ("Slow GPU", "Fast GPU")
MIG_HANDLE = 0x100
GIB = 2**30


def parse(text: str) -> dict[str, list[str]]:
    """Values of each key, in order."""
    options: dict[str, list[str]] = {}
    for entry in filter(None, text.split(";")):
        key, _, value = entry.partition("=")
        options.setdefault(key, []).append(value)
    return options


class FakeLibrary:
    """What ``ctypes.CDLL`` would be; the functions take what the binding passes."""

    def __init__(self, text: str = "") -> None:
        self._options = parse(text)
        self._fail = dict(entry.split(":") for entry in self._options.get("fail", []))
        self._field = dict(entry.split(":") for entry in self._options.get("field", []))
        self._now_s = 0.0
        self._asked = 0
        self.calls: list[str] = []
        self.open = 0

    def __getattr__(self, name: str) -> Callable[..., int]:
        body = getattr(type(self), f"_{name}", None)
        if body is None:
            raise AttributeError(name)

        def function(*arguments: Any) -> Any:
            self.calls.append(name)
            if name in self._fail:
                return int(self._fail[name])
            code = body(self, *arguments)
            return 0 if code is None else code

        return function

    def _option(self, key: str, default: str) -> str:
        return self._options.get(key, [default])[-1]

    def _watts(self) -> tuple[float, float, float]:
        before, after, since_s = map(float, self._option("watts", "250,250,0").split(","))
        return before, after, since_s

    def _joules(self, time_s: float) -> float:
        before, after, since_s = self._watts()
        return before * min(time_s, since_s) + after * max(time_s - since_s, 0.0)

    def _nvmlInitWithFlags(self, flags: int) -> None:
        self.open += 1

    def _nvmlShutdown(self) -> None:
        self.open -= 1

    def _nvmlErrorString(self, code: int) -> bytes:
        return f"error {code} in words".encode()

    def _nvmlSystemGetDriverVersion(self, buffer: Any, size: Any) -> None:
        buffer.value = b"580.65.06"

    def _nvmlSystemGetNVMLVersion(self, buffer: Any, size: Any) -> None:
        buffer.value = b"13.580.65.06"

    def _nvmlDeviceGetCount_v2(self, count: Any) -> None:
        count._obj.value = int(self._option("devices", "2"))

    def _nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int | None:
        if index.value >= int(self._option("devices", "2")):
            return 2
        _store(handle, index.value + 1)
        return None

    def _nvmlDeviceGetHandleByUUID(self, uuid: Any, handle: Any) -> int | None:
        known = dict(zip((*UUIDS, MIG_UUID), (1, 2, MIG_HANDLE), strict=True))
        if uuid.value.decode() not in known:
            return 6
        _store(handle, known[uuid.value.decode()])
        return None

    def _nvmlDeviceGetUUID(self, handle: Any, buffer: Any, size: Any) -> None:
        number = _number(handle)
        buffer.value = (MIG_UUID if number == MIG_HANDLE else UUIDS[number - 1]).encode()

    def _nvmlDeviceGetName(self, handle: Any, buffer: Any, size: Any) -> None:
        number = _number(handle)
        buffer.value = (NAMES[0] + " MIG" if number == MIG_HANDLE else NAMES[number - 1]).encode()

    def _nvmlDeviceGetPciInfo_v3(self, handle: Any, info: Any) -> None:
        info._obj.busId = f"00000000:0{_number(handle)}:00.0".encode()

    def _nvmlDeviceGetTotalEnergyConsumption(self, handle: Any, value: Any) -> None:
        self._now_s += float(self._option("tick", "10")) / 1000
        # Rounding keeps 0.3 s from being two steps.
        value._obj.value = round(self._joules(int(self._now_s * 10 + 1e-9) / 10) * 1000)

    def _nvmlDeviceGetPowerUsage(self, handle: Any, value: Any) -> None:
        value._obj.value = round(self._average() * 1000)

    def _instant(self) -> float:
        before, after, since_s = self._watts()
        return before if self._now_s < since_s else after

    def _average(self) -> float:
        begin_s = max(self._now_s - 1.0, 0.0)
        if self._now_s <= begin_s:
            return self._instant()
        return (self._joules(self._now_s) - self._joules(begin_s)) / (self._now_s - begin_s)

    def _nvmlDeviceGetFieldValues(self, handle: Any, count: Any, values: Any) -> None:
        for value in values._obj:
            value.nvmlReturn = int(self._field.get(f"{value.fieldId}/{value.scopeId}", "0"))
            value.valueType = 1
            watts = self._instant() if value.fieldId == 186 else self._average()
            value.value.uiVal = round(watts * 1000)

    def _nvmlDeviceGetPowerManagementLimit(self, handle: Any, value: Any) -> None:
        value._obj.value = 700_000

    def _nvmlDeviceGetClockInfo(self, handle: Any, kind: Any, value: Any) -> None:
        if kind.value == 2:
            value._obj.value = 2619
            return
        clocks = self._option("sm", "1980").split(",")
        value._obj.value = int(clocks[min(self._asked, len(clocks) - 1)])
        self._asked += 1

    def _nvmlDeviceGetMaxClockInfo(self, handle: Any, kind: Any, value: Any) -> None:
        value._obj.value = 2619 if kind.value == 2 else 1980

    def _nvmlDeviceGetTemperatureV(self, handle: Any, value: Any) -> int | None:
        if value._obj.version != 0x100000C:
            return 25
        value._obj.temperature = 41
        return None

    def _nvmlDeviceGetTemperature(self, handle: Any, sensor: Any, value: Any) -> None:
        value._obj.value = 41

    def _nvmlDeviceGetCurrentClocksEventReasons(self, handle: Any, value: Any) -> None:
        value._obj.value = int(self._option("throttle", "0"), 0)

    _nvmlDeviceGetCurrentClocksThrottleReasons = _nvmlDeviceGetCurrentClocksEventReasons

    def _nvmlDeviceGetUtilizationRates(self, handle: Any, rates: Any) -> None:
        rates._obj.gpu, rates._obj.memory = 37, 0

    def _nvmlDeviceGetMemoryInfo(self, handle: Any, info: Any) -> None:
        info._obj.total, info._obj.used, info._obj.free = 80 * GIB, 3 * GIB, 77 * GIB

    def _nvmlDeviceGetMemoryInfo_v2(self, handle: Any, info: Any) -> int | None:
        if info._obj.version != 0x02000028:
            return 25
        info._obj.total, info._obj.reserved = 80 * GIB, GIB
        info._obj.used, info._obj.free = 2 * GIB, 77 * GIB
        return None

    def _processes(self, version: int, count: Any, entries: Any) -> int | None:
        text = self._option("processes", "11:500,12:-1")
        wanted = [tuple(map(int, pair.split(":"))) for pair in filter(None, text.split(","))]
        room, count._obj.value = count._obj.value, len(wanted)
        if len(wanted) > room:
            return 7
        for entry, (pid, size) in zip(entries or (), wanted, strict=False):
            garbled = str(version) in self._option("garble", "").split(",")
            entry.pid, entry.usedGpuMemory = (0, pid) if garbled else (pid, size % 2**64)
        return None

    def _nvmlDeviceGetComputeRunningProcesses(self, handle: Any, *rest: Any) -> int | None:
        return self._processes(1, *rest)

    def _nvmlDeviceGetComputeRunningProcesses_v2(self, handle: Any, *rest: Any) -> int | None:
        return self._processes(2, *rest)

    def _nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Any, *rest: Any) -> int | None:
        return self._processes(3, *rest)

    def _nvmlDeviceGetMigMode(self, handle: Any, current: Any, pending: Any) -> None:
        current._obj.value = pending._obj.value = int(self._option("mig", "0"))

    def _nvmlDeviceIsMigDeviceHandle(self, handle: Any, value: Any) -> None:
        value._obj.value = int(_number(handle) == MIG_HANDLE)

    def _nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: Any, card: Any) -> None:
        _store(card, 1)

    def _nvmlDeviceGetMaxMigDeviceCount(self, handle: Any, value: Any) -> None:
        value._obj.value = 7 if self._option("mig", "0") == "1" else 0

    def _nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: Any, mig: Any) -> int | None:
        if _number(handle) != 1 or index.value != 0:
            return 6
        _store(mig, MIG_HANDLE)
        return None

    def _nvmlDeviceGetPersistenceMode(self, handle: Any, value: Any) -> None:
        value._obj.value = 1


def _store(reference: Any, number: int) -> None:
    ctypes.cast(reference, ctypes.POINTER(ctypes.c_void_p))[0] = number


def _number(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


@contextmanager
def loaded(text: str = "") -> Iterator[FakeLibrary]:
    """The true binding, over the stand-in."""
    library = FakeLibrary(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pynvml, "nvmlLib", library)
        patch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
        yield library
