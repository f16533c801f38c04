"""The CPU side of a measurement: monotonic clock, allocator events, eviction by streaming."""

from __future__ import annotations

import time
from functools import cached_property

import torch

from costlab.devices.processor import cpu_caches
from costlab.measurement.backend import Action, Block, MemoryPeaks
from costlab.measurement.memory import allocator_peak

# Where the system does not tell; more than the last cache of a common desktop processor.
_DEFAULT_CACHE_BYTES = 64 * 2**20
# A server's last cache may be shared by dozens of cores and is rarely filled by one process.
_MOST_CACHE_BYTES = 256 * 2**20


class CpuBackend:
    """Runs on the CPU; the device's time is the wall clock's."""

    uuid = ""

    def __init__(self, cache_bytes: int | None = None) -> None:
        """Use ``cache_bytes`` as the size of the last cache; None reads it from the system."""
        self._cache_bytes = _last_cache_bytes() if cache_bytes is None else cache_bytes

    @cached_property
    def _eviction(self) -> torch.Tensor:
        return torch.ones(2 * self._cache_bytes, dtype=torch.uint8)

    def time(self, action: Action, calls: int) -> Block:
        """Monotonic wall time around the calls."""
        start = time.perf_counter_ns()
        for _ in range(calls):
            action()
        seconds = (time.perf_counter_ns() - start) * 1e-9
        return Block(seconds, seconds)

    def make_cold(self) -> None:
        """Read and write a buffer of twice the last cache."""
        self._eviction.bitwise_not_()

    def synchronize(self) -> None:
        """Nothing: a call on the CPU has ended when it returns."""

    def retries(self) -> None:
        """None: the CPU's allocator keeps no cache that it could free."""

    def peaks(self, action: Action, before_bytes: int) -> MemoryPeaks:
        """Allocator events of one call on top of ``before_bytes``."""
        return MemoryPeaks(before_bytes + allocator_peak(action))


def _last_cache_bytes() -> int:
    caches = cpu_caches()
    return min(caches[-1].size_bytes, _MOST_CACHE_BYTES) if caches else _DEFAULT_CACHE_BYTES
