"""The CUDA side of a measurement: events for time, allocator and driver figures for memory.

Runs in the worker only, which creates the CUDA context; the parent never does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import torch

from costlab.devices.nvml import process_memory_bytes


class CudaStopwatch:
    """Times calls with a pair of events on the current stream."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def __call__(self, action: Callable[[], object], calls: int) -> float:
        """Seconds between the events around ``calls`` calls, as the device saw them."""
        start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        torch.cuda.synchronize(self._device)
        start.record()
        for _ in range(calls):
            action()
        end.record()
        torch.cuda.synchronize(self._device)
        return float(start.elapsed_time(end)) * 1e-3


@dataclass(frozen=True, slots=True)
class CudaMemory:
    """Peaks of one call in bytes.

    ``requested_bytes`` is what tensors asked for (what a formula predicts), ``allocated_bytes``
    after the allocator's rounding, ``reserved_bytes`` what it took from the driver, and
    ``device_bytes`` what the driver gave the process, context included.
    """

    requested_bytes: int
    allocated_bytes: int
    reserved_bytes: int
    device_bytes: int | None
    device_reason: str
    retries: int


def cuda_peak(action: Callable[[], object], device: torch.device) -> CudaMemory:
    """Peaks of ``action`` on ``device``, with everything alive before included."""
    torch.cuda.synchronize(device)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    retries = torch.cuda.memory_stats(device)["num_alloc_retries"]
    kept = action()
    torch.cuda.synchronize(device)
    stats = torch.cuda.memory_stats(device)
    uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    device_bytes, reason = process_memory_bytes(uuid, os.getpid())
    del kept
    return CudaMemory(
        requested_bytes=stats["requested_bytes.all.peak"],
        allocated_bytes=stats["allocated_bytes.all.peak"],
        reserved_bytes=stats["reserved_bytes.all.peak"],
        device_bytes=device_bytes,
        device_reason=reason,
        retries=stats["num_alloc_retries"] - retries,
    )
