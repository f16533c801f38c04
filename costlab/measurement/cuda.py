"""The CUDA side of a measurement: events for time, allocator and driver figures for memory.

Runs in the worker only, which creates the CUDA context; the parent never does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from costlab.devices.nvml import process_memory_bytes
from costlab.measurement.backend import Action, Block, MemoryPeaks


class CudaBackend:
    """Runs on one CUDA device; see :class:`costlab.measurement.backend.Backend`."""

    def __init__(self, device: str) -> None:
        self._device = torch.device(device)
        self._properties = torch.cuda.get_device_properties(self._device)

    @property
    def uuid(self) -> str:
        return f"GPU-{self._properties.uuid}"

    def time(self, action: Action, calls: int) -> Block:
        """Events around the calls; the host's time ends when the last call is issued."""
        host_s = 0.0

        def issue() -> None:
            nonlocal host_s
            start = time.perf_counter()
            for _ in range(calls):
                action()
            host_s = time.perf_counter() - start

        return Block(CudaStopwatch(self._device)(issue, 1), host_s)

    def make_cold(self) -> None:
        """Write a buffer of the size of the L2 cache."""
        torch.empty(self._properties.L2_cache_size, dtype=torch.uint8, device=self._device).zero_()
        self.synchronize()

    def synchronize(self) -> None:
        torch.cuda.synchronize(self._device)

    def peaks(self, action: Action, before_bytes: int) -> MemoryPeaks:
        """Figures of torch's allocator, which counts what existed before itself."""
        peak = cuda_peak(action, self._device)
        return MemoryPeaks(
            peak.requested_bytes,
            allocated_bytes=peak.allocated_bytes,
            reserved_bytes=peak.reserved_bytes,
            device_bytes=peak.device_bytes,
            retries=peak.retries,
            reasons={"device_bytes": peak.device_reason} if peak.device_reason else {},
        )


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
