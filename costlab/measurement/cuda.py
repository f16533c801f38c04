"""The CUDA side of a measurement: events for time, allocator and driver figures for memory.

Runs in the worker only, which creates the CUDA context; the parent never does.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import torch

from costlab.devices.nvml import process_memory_bytes
from costlab.errors import InputError
from costlab.i18n import _
from costlab.measurement.backend import Action, Block, MemoryPeaks

# Waiting for a device that has nothing left to do takes a few microseconds. What takes longer
# waited for streams that the events are not on.
_OTHER_STREAMS_S = 50e-6

# The allocator's figures that are kept beside the peaks, by torch's own names.
_COUNTERS = (
    "requested_bytes.all.peak",
    "requested_bytes.all.current",
    "allocated_bytes.all.current",
    "inactive_split_bytes.all.peak",
    "num_ooms",
    "num_sync_all_streams",
    "num_device_alloc",
)

MemoryOf = Callable[[str, int], tuple[int | None, str]]


class CudaBackend:
    """Runs on one CUDA device; see :class:`costlab.measurement.backend.Backend`.

    Args:
        device: "cuda" or "cuda:N".
        cuda: what ``torch.cuda`` offers.
        allocate: makes a tensor of so many bytes on the device.
        memory_of: the driver's bytes of a process, by the device's UUID.
        clock: monotonic seconds.

    Raises:
        InputError: if there is no such device, with CUDA's own reason.
    """

    def __init__(
        self,
        device: str,
        cuda: Any = torch.cuda,
        allocate: Callable[[int], Any] | None = None,
        memory_of: MemoryOf = process_memory_bytes,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.cuda = cuda
        self.device = torch.device("cuda", _index(device, cuda))
        # Events are recorded on the current device's stream.
        cuda.set_device(self.device)
        self.properties = cuda.get_device_properties(self.device)
        self._allocate = allocate or self._bytes_on_device
        self._memory_of = memory_of
        self._clock = clock
        self._flush: Any = None
        self._start, self._end = self.event(), self.event()

    def _bytes_on_device(self, count: int) -> torch.Tensor:
        return torch.empty(count, dtype=torch.uint8, device=self.device)

    @property
    def uuid(self) -> str:
        return f"GPU-{self.properties.uuid}"

    def event(self) -> Any:
        """A new event that keeps its time."""
        return self.cuda.Event(enable_timing=True)

    def time(self, action: Action, calls: int) -> Block:
        """One pair of events around the calls, and one wait after them.

        The events are on the current stream. If the device is still busy when the second has
        passed, other streams are: the wait for them is added.
        """
        self.synchronize()
        self._start.record()
        begin = self._clock()
        for _call in range(calls):
            action()
        host_s = self._clock() - begin
        self._end.record()
        self._end.synchronize()
        ended = self._clock()
        self.synchronize()
        others_s = self._clock() - ended
        device_s = float(self._start.elapsed_time(self._end)) * 1e-3
        return Block(device_s + (others_s if others_s > _OTHER_STREAMS_S else 0.0), host_s)

    def make_cold(self) -> None:
        """Write a buffer of exactly the size of the L2 cache, and wait until that is done."""
        if self._flush is None:
            self._flush = self._allocate(self.properties.L2_cache_size)
        self._flush.zero_()
        self.synchronize()

    def synchronize(self) -> None:
        self.cuda.synchronize(self.device)

    def retries(self) -> int:
        """Times the allocator had to free its cache, or found nothing even then."""
        stats = self.cuda.memory_stats(self.device)
        return int(stats.get("num_alloc_retries", 0)) + int(stats.get("num_ooms", 0))

    def peaks(self, action: Action, before_bytes: int) -> MemoryPeaks:
        """Figures of torch's allocator, its peaks reset just before the call.

        Work spaces that libraries keep between calls (cuBLAS holds up to 32 MiB per stream) are
        in ``allocated_bytes``, and apart in the counter ``library_bytes``; ``peak_bytes`` is
        without them, since no formula speaks of them.
        """
        self._flush = None
        gc.collect()
        self.synchronize()
        self.cuda.empty_cache()
        self.cuda.reset_peak_memory_stats(self.device)
        before, retries = self.cuda.memory_stats(self.device), self.retries()
        kept = action()
        self.synchronize()
        after = self.cuda.memory_stats(self.device)
        retries = self.retries() - retries
        device_bytes, reason = self._memory_of(self.uuid, os.getpid())
        del kept
        reasons = {} if device_bytes is not None else {"device_bytes": reason}
        layer = "requested_bytes"
        if not after.get(f"{layer}.all.peak"):
            layer = "allocated_bytes"
            reasons["requested_bytes"] = _(
                "this CUDA allocator does not count requests: peak_bytes is rounded up"
            )
        held = int(before[f"{layer}.all.current"])
        return MemoryPeaks(
            peak_bytes=before_bytes + int(after[f"{layer}.all.peak"]) - held,
            allocated_bytes=int(after["allocated_bytes.all.peak"]),
            reserved_bytes=int(after["reserved_bytes.all.peak"]),
            device_bytes=device_bytes,
            retries=retries,
            reasons=reasons,
            counters={name: int(after[name]) for name in _COUNTERS if name in after}
            | {"library_bytes": held - before_bytes},
        )


def _index(device: str, cuda: Any) -> int:
    """The number of ``device`` in CUDA's order.

    Raises:
        InputError: if CUDA cannot be used, or has no such device.
    """
    try:
        cuda.init()
        count = int(cuda.device_count())
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            _("CUDA cannot be used here"),
            given=f"{device}: {reason}",
            allowed="cpu",
            advice=_("`costlab doctor` says what is missing"),
        ) from None
    number = int(device.partition(":")[2] or 0)
    if number >= count:
        known = ", ".join(f"cuda:{known}" for known in range(count))
        raise InputError(_("no such CUDA device"), given=device, allowed=known or "cpu")
    return number
