"""Peak memory of one call: exact allocator bytes, and the resident size of this process.

Both need a pass of their own: the profiler slows what it watches, and a resident peak includes
all that happened before.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from pathlib import Path

from torch._C._autograd import DeviceType
from torch.autograd.profiler import profile

_STATUS = Path("/proc/self/status")


def allocator_peak(action: Callable[[], object]) -> int:
    """Most bytes that ``action`` had allocated at one moment, on the CPU.

    The profiler reports every allocation and release of torch's CPU allocator, kernel scratch
    included; the largest running sum is the peak. Bytes that existed before are not in it.
    """
    gc.collect()
    gc.disable()
    try:
        # torch.profiler.profile is the same profiler but imports 800 modules first.
        with profile(profile_memory=True) as recorded:
            kept = action()
    finally:
        gc.enable()
    results = recorded.kineto_results
    assert results is not None
    events = sorted(
        (event.start_ns(), index, event.nbytes())
        for index, event in enumerate(results.events())
        if event.name() == "[memory]" and event.device_type() == DeviceType.CPU
    )
    del kept
    return running_peak(change for _start, _index, change in events)


def running_peak(changes: Iterable[int]) -> int:
    """The largest prefix sum of allocations (positive) and releases (negative), at least 0."""
    live = peak = 0
    for change in changes:
        live += change
        peak = max(peak, live)
    return peak


def resident_peak_bytes(status: Path = _STATUS) -> int | None:
    """Highest resident size of this process so far (VmHWM); None where /proc has none.

    Right in a process that was started by exec; a plain fork inherits its parent's peak.
    """
    try:
        text = status.read_text()
    except OSError:
        return None
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024
    return None
