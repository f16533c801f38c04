"""What a measured pass asks of a device. One class for each kind of device; no torch here.

A pass never asks which device it runs on. Everything below is called in the worker, which alone
creates a device's context. Readings of the hardware (clocks, temperature, energy counters) are
not part of it: they come from :mod:`costlab.devices`, by :attr:`Backend.uuid`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

Action = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Block:
    """The time of some calls in a row, in seconds for all of them.

    Attributes:
        device_s: from the start of the first call to the end of the last as the device saw it,
            work on every stream included.
        host_s: what the CPU took to issue the calls; equal to ``device_s`` where the CPU is the
            device. At or above ``device_s`` the device waited for the CPU.
    """

    device_s: float
    host_s: float


@dataclass(frozen=True, slots=True)
class MemoryPeaks:
    """The most memory during one call, by layer; None with its reason in ``reasons``.

    Attributes:
        peak_bytes: what tensors asked for, all that existed before the call included. This is
            what a formula predicts.
        allocated_bytes: the same after the allocator's rounding.
        reserved_bytes: what the allocator had taken from the driver.
        device_bytes: what the driver had given this process, its context included.
        retries: times the allocator had to free its cache and ask again; the pass that it
            happened in says nothing about time. 0 only where this is counted.
        counters: further figures of the allocator by its own names, kept with the raw data.
    """

    peak_bytes: int
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    device_bytes: int | None = None
    retries: int | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)


class Backend(Protocol):
    """One device, ready to run. See :func:`open_backend`."""

    @property
    def uuid(self) -> str:
        """NVML's ``GPU-...`` identifier, the same whatever CUDA calls the device; "" for a CPU."""

    def time(self, action: Action, calls: int) -> Block:
        """Time ``calls`` calls of ``action``, 0 included (what timing itself costs).

        Nothing issued before may run into the block, and the block ends only when all that
        ``action`` issued on any stream has ended.
        """

    def make_cold(self) -> None:
        """Evict what earlier calls left in the device's last cache, and wait until it is done.

        Called outside every timed and profiled part and outside energy windows.
        """

    def synchronize(self) -> None:
        """Wait for all work issued so far."""

    def retries(self) -> int | None:
        """Times the allocator had to free its cache and ask again since the process began.

        A pass in which this grows says nothing about time. None where it is not counted.
        """

    def peaks(self, action: Action, before_bytes: int) -> MemoryPeaks:
        """The peaks of one call of ``action``, whose result lives until the call's peak is read.

        Args:
            action: one pass; it has run before, so that libraries have set themselves up.
            before_bytes: bytes of all tensors that exist before, for a device whose allocator
                reports changes only.
        """


def open_backend(device: str) -> Backend:
    """The backend of ``"cpu"``, ``"cuda"`` or ``"cuda:N"``; imports torch, creates the context.

    Raises:
        InputError: if there is no such device.
    """
    if device == "cpu":
        from costlab.measurement.cpu import CpuBackend

        return CpuBackend()
    from costlab.measurement.cuda import CudaBackend

    return CudaBackend(device)
