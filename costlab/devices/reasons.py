"""Why a reading is missing: a code for programs, one line that helps for people.

The table gathers what is known to be unreadable on which kind of machine; the codes of NVML are
those of nvml.h. A code that is not in a table still gives a reason, with the library's own words.
"""

from __future__ import annotations

from collections.abc import Mapping

from costlab.i18n import _

REASONS: Mapping[str, str] = {
    # Of NVML's own codes.
    "uninitialised": _("NVML was not initialised"),
    "invalid_argument": _("NVML did not accept the query; binding and driver may not fit together"),
    "not_supported": _("this GPU or driver does not support the query"),
    "no_permission": _("the query needs rights that this user does not have"),
    "not_found": _("NVML does not know the device or process; it may be gone"),
    "insufficient_size": _("the answer grew while it was read; read again"),
    "insufficient_power": _("the GPU's external power cable is missing or too weak"),
    "no_driver": _("the NVIDIA kernel driver is not loaded: `nvidia-smi` must work first"),
    "timeout": _("the driver did not answer in time; the GPU may be hung"),
    "interrupt": _("the GPU has interrupt problems; see the kernel's log (dmesg)"),
    "no_library": _("libnvidia-ml is not here: no NVIDIA driver, or not passed into the container"),
    "driver_too_old": _("this driver lacks the query; a newer driver has it"),
    "inforom_corrupt": _("the GPU's infoROM is corrupt"),
    "gpu_lost": _("the GPU fell off the bus or is inaccessible; reboot"),
    "reset_required": _("the GPU needs a reset: `nvidia-smi --gpu-reset` as root, or a reboot"),
    "operating_system": _("the operating system or a container blocked the query"),
    "driver_mismatch": _(
        "the driver was updated without being reloaded: reboot, or reload the nvidia modules"
    ),
    "in_use": _("another process is using what the query needs"),
    "out_of_memory": _("the driver had too little memory for the query"),
    "no_data": _("the driver has no data for the query yet"),
    "insufficient_resources": _("the driver had too few resources for the query"),
    "version_mismatch": _("the driver knows another version of this query's structure"),
    "deprecated": _("this driver no longer offers the query"),
    "not_ready": _("the GPU is not ready yet; read again later"),
    "invalid_state": _("the GPU is in a state in which the query is not possible"),
    "unknown_error": _("NVML reports an unknown error"),
    # Of the place in which the GPU stands.
    "mig": _("NVML does not report this for a MIG instance"),
    "mig_whole_card": _("NVML reports this for the whole card only, not for a MIG instance"),
    "wsl": _("the driver does not report this inside WSL; read it on Windows"),
    "wddm": _("Windows (WDDM) does not report this; it needs the TCC or MCDM driver model"),
    "jetson": _("Jetson boards have no NVML, or one without this; use tegrastats"),
    "unified_memory": _("this GPU shares the system's memory and has no figure of its own"),
    "energy_before_volta": _("the energy counter exists on Volta and later only"),
    "no_power_sensor": _("this GPU has no power sensor that the driver reports"),
    "container_pids": _("in a container NVML lists the host's process ids: run with --pid=host"),
    "no_process_memory": _("the driver does not report memory by process"),
    "process_list_garbled": _("the driver's process list makes no sense with this binding"),
    # Of the machine.
    "no_binding": _("the package nvidia-ml-py is not installed: pip install nvidia-ml-py"),
    "no_gpu": _("NVML lists no GPU"),
    "no_powercap": _("this kernel or virtual machine has no /sys/class/powercap (RAPL)"),
    "powercap_masked": _("powercap is there but empty; container runtimes mask it"),
    "powercap_root": _(
        "RAPL is readable by root only: sudo chmod a+r /sys/class/powercap/*/energy_uj"
    ),
    "no_sensor": _("the system exposes no such sensor"),
    "no_limit": _("no limit is set"),
    "no_control_groups": _("this system has no control groups, so none limits it"),
    "first_reading": _("known from the second reading on"),
    "not_on_system": _("this operating system does not report it"),
    "unreadable": _("the system's file could not be read"),
    "unknown_type": _("the driver answered with a type that this version does not know"),
    "paused": _("not read while something is measured"),
    "not_read": _("this device has no such reading"),
    "cuda_order_unknown": _(
        "CUDA counts the fastest GPU first: set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name UUIDs"
    ),
    # Of judging samples.
    "too_few_samples": _("fewer than two samples"),
    "gap_in_samples": _("the samples have a gap"),
    "window_short": _("the window is too short for the counter's steps"),
    "counter_still": _("the energy counter did not move"),
    "counter_reset": _("the energy counter ran backwards; the driver was reloaded"),
    "no_idle_baseline": _("no idle power was measured beside it"),
    "no_counter_steps": _("known for a window of the energy counter only"),
}
"""One line for each reason code."""

NVML_REASONS: Mapping[int, str] = {
    1: "uninitialised",
    2: "invalid_argument",
    3: "not_supported",
    4: "no_permission",
    6: "not_found",
    7: "insufficient_size",
    8: "insufficient_power",
    9: "no_driver",
    10: "timeout",
    11: "interrupt",
    12: "no_library",
    13: "driver_too_old",
    14: "inforom_corrupt",
    15: "gpu_lost",
    16: "reset_required",
    17: "operating_system",
    18: "driver_mismatch",
    19: "in_use",
    20: "out_of_memory",
    21: "no_data",
    23: "insufficient_resources",
    25: "version_mismatch",
    26: "deprecated",
    27: "not_ready",
    28: "no_gpu",
    29: "invalid_state",
    999: "unknown_error",
}
"""Reason code of each return code of NVML that a query can give (nvml.h, nvmlReturn_t)."""

_UNSUPPORTED = frozenset({"not_supported", "driver_too_old", "unknown_error", "no_permission"})
# What a place is known not to report, by the first part of the reading's name.
_BY_PLACE: Mapping[str, Mapping[str, str]] = {
    "mig": {"utilisation": "mig", "memory": "mig", "processes": "mig"},
    "wsl": {"utilisation": "wsl", "memory_utilisation": "wsl", "processes": "wsl"},
    "windows": {"processes": "wddm"},
    "jetson": dict.fromkeys(
        ("power", "power_average", "energy", "memory_used", "memory_total", "memory_reserved",
         "sm_clock", "memory_clock", "sm_clock_max", "memory_clock_max"), "jetson"),
}  # fmt: skip
_BY_READING: Mapping[str, str] = {
    "energy": "energy_before_volta",
    "power": "no_power_sensor",
    "memory_used": "unified_memory",
    "memory_total": "unified_memory",
}


def text_of(reason: str) -> str:
    """The line of a reason code; an unknown code is its own text."""
    return REASONS.get(reason, reason)


def nvml_reason(code: int, reading: str = "", places: frozenset[str] = frozenset()) -> str:
    """Reason code for NVML's return code ``code``, where ``reading`` was asked for.

    Args:
        code: NVML's return code, not 0.
        reading: name of the reading; "" for a query that opens NVML.
        places: kinds of place the GPU stands in: "mig", "wsl", "windows", "jetson".
    """
    reason = NVML_REASONS.get(code, "unknown_error")
    if reason == "no_library" and "jetson" in places:
        return "jetson"
    if reason in _UNSUPPORTED:
        for place in ("mig", "wsl", "windows", "jetson"):
            if place in places and reading in _BY_PLACE[place]:
                return _BY_PLACE[place][reading]
    if reason == "not_supported":
        return _BY_READING.get(reading, reason)
    return reason
