"""Power of a GPU with its meaning: NVML has several fields, which differ by what they average.

Field 186 is the power at an instant, 185 the mean of the last second; both exist for the chip
(scope 0) or, where that fails (GH200), for the module with its CPU (scope 1). The plain call
``nvmlDeviceGetPowerUsage`` is a mean over a second on Ampere (but not GA100) and later, and an
instant before (nvml.h). So the source is kept with the value.
"""

from __future__ import annotations

from typing import Any

from costlab.devices.nvml_session import NvmlFailed, NvmlSession
from costlab.devices.readings import Reading, missing

_FIELDS = {"power_instant": 186, "power_average": 185}
_WORDS = {"power_instant": "instant", "power_average": "average over 1 s"}
_SCOPES = ("chip", "module")  # NVML_POWER_SCOPE_GPU, NVML_POWER_SCOPE_MODULE
_USAGE = "nvmlDeviceGetPowerUsage"
# Members of nvmlValue_t by nvmlValueType_t.
_MEMBERS = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}


def read_power(session: NvmlSession, handle: Any, where: frozenset[str]) -> dict[str, Reading]:
    """ "power_instant", "power_average", and "power": the best there is of these, in W."""
    readings: dict[str, Reading] = {}
    for scope in range(len(_SCOPES)):
        wanted = [name for name in _FIELDS if name not in readings or readings[name].value is None]
        for name, reading in _fields(session, handle, wanted, scope, where).items():
            if reading.value is not None or name not in readings:
                readings[name] = reading
        if all(reading.value is not None for reading in readings.values()):
            break
    best = next((one for one in readings.values() if one.value is not None), None)
    if best is None:
        best = session.reading("power", "W", [(_USAGE, (handle,))], lambda mw: mw * 1e-3, where)
        if best.value is not None:
            source = f"{_USAGE}, chip, instant or average over 1 s by generation"
            best = Reading(best.value, "W", source)
    return {"power": best, **readings}


def _fields(
    session: NvmlSession, handle: Any, names: list[str], scope: int, where: frozenset[str]
) -> dict[str, Reading]:
    queries = [(_FIELDS[name], scope) for name in names]
    try:
        answers = session.call("nvmlDeviceGetFieldValues", handle, queries)
    except NvmlFailed as failure:
        return {name: session.missing(name, "W", failure, where) for name in names}
    readings = {}
    for name, answer in zip(names, answers, strict=True):
        code = int(answer.nvmlReturn)
        if code:
            readings[name] = session.missing(name, "W", session.failure(code), where)
            continue
        member = _MEMBERS.get(int(answer.valueType))
        if member is None:
            readings[name] = missing("W", "unknown_type")
            continue
        source = f"NVML field {_FIELDS[name]}, {_SCOPES[scope]}, {_WORDS[name]}"
        readings[name] = Reading(getattr(answer.value, member) * 1e-3, "W", source)
    return readings
