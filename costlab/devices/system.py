"""Readers of everything this machine has: the CPU, and each GPU or the reason why there is none."""

from __future__ import annotations

from typing import Any

from costlab.devices.cpu import CpuReader
from costlab.devices.gpu import GPU_UNITS, open_gpus
from costlab.devices.nvml_session import NvmlUnavailable
from costlab.devices.readers import DeviceReader, NullReader


def open_readers(nvml: Any = None) -> list[DeviceReader]:
    """The CPU's reader and the GPUs'; a null reader where NVML does not work. Close them all.

    Args:
        nvml: a module with pynvml's functions; None loads pynvml.
    """
    readers: list[DeviceReader] = [CpuReader()]
    try:
        readers.extend(open_gpus(nvml))
    except NvmlUnavailable as unavailable:
        readers.append(NullReader("gpu", GPU_UNITS, unavailable.reason, unavailable.text))
    return readers
