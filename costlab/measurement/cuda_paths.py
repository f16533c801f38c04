"""One program timed in every way its device allows: hot, cold, behind a held stream, as a graph.

Between CUDA's events, a program of short kernels shows how fast the CPU issues them. Two ways
leave that out: a kernel that only waits holds the stream until all calls are queued behind it, and
a CUDA graph is issued as a whole. Each runs in a pass of its own, since a failed capture may leave
the process unusable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from costlab.errors import InputError
from costlab.i18n import _
from costlab.measurement.backend import Action, Backend
from costlab.measurement.cuda import CudaBackend
from costlab.measurement.statistics import median

PATHS = ("hot", "cold", "held", "graph")
_TIMES = ("device_s", "host_s")
_TRIAL_CYCLES = 1_000_000
_SHORTEST_HOLD_S = 1e-3
_LONGEST_HOLD_S = 0.25
_WARM_CALLS = 3  # what torch asks for before a capture


@dataclass(frozen=True, slots=True)
class PathTimes:
    """Seconds of one call in one way; a time that is None has its reason in ``reasons``.

    Attributes:
        path: one of ``PATHS``.
        device_s: one call as the device saw it (median); hot and cold include waiting for the
            CPU, held and graph do not.
        host_s: what the CPU took to issue the call.
        samples_s: the device's time of each sample.
        retries: times the allocator had to ask again, which voids the times; None where that
            is not counted.
    """

    path: str
    device_s: float | None
    host_s: float | None
    samples_s: tuple[float, ...] = ()
    retries: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)


def time_path(
    backend: Backend,
    path: str,
    action: Action,
    between: Callable[[], None],
    samples: int = 10,
) -> PathTimes:
    """Time ``action`` in one way; it has run before.

    Args:
        backend: the device.
        path: one of ``PATHS``.
        action: one call.
        between: run before every sample, outside what is timed.
        samples: how many calls to time, one each.

    Raises:
        InputError: if there is no such path.
    """
    if path not in PATHS:
        raise InputError(_("unknown way of timing"), given=path, allowed=", ".join(PATHS))
    retries = backend.retries()
    if path in ("held", "graph"):
        if not isinstance(backend, CudaBackend):
            reason = _("the CPU issues the work and does it: there is nothing to take apart")
            return PathTimes(path, None, None, reasons=dict.fromkeys(_TIMES, reason))
        times = (_held if path == "held" else _graphed)(backend, action, between, samples)
        return replace(times, retries=_since(backend, retries))
    device, host = [], []
    for _sample in range(samples):
        between()
        if path == "cold":
            backend.make_cold()
        block = backend.time(action, 1)
        device.append(block.device_s)
        host.append(block.host_s)
    grown = _since(backend, retries)
    return PathTimes(path, median(device), median(host), tuple(device), grown)


def _since(backend: Backend, before: int | None) -> int | None:
    now = backend.retries()
    return None if now is None or before is None else now - before


def _held(
    backend: CudaBackend, action: Action, between: Callable[[], None], samples: int
) -> PathTimes:
    between()
    host_s = backend.time(action, 1).host_s
    cycles_per_s = _spin_rate(backend)
    hold_s = max(4 * host_s, _SHORTEST_HOLD_S)
    device: list[float] = []
    while len(device) < samples and hold_s <= _LONGEST_HOLD_S:
        between()
        seconds = _behind(backend, action, round(hold_s * cycles_per_s))
        if seconds is None:
            hold_s *= 2
        else:
            device.append(seconds)
    if not device:
        reason = _("the call waits for the device, or issues more than its queue holds")
        return PathTimes("held", None, host_s, reasons={"device_s": reason})
    return PathTimes("held", median(device), host_s, tuple(device))


def _spin_rate(backend: CudaBackend) -> float:
    """Cycles per second of the waiting kernel."""

    def spin() -> None:
        backend.cuda._sleep(_TRIAL_CYCLES)

    backend.time(spin, 1)
    return _TRIAL_CYCLES / backend.time(spin, 1).device_s


def _behind(backend: CudaBackend, action: Action, cycles: int) -> float | None:
    """Seconds of one call that was queued while the stream was held; None if it was not."""
    start, end = backend.event(), backend.event()
    backend.synchronize()
    backend.cuda._sleep(cycles)
    start.record()
    action()
    end.record()
    held = not start.query()
    backend.synchronize()
    return float(start.elapsed_time(end)) * 1e-3 if held else None


def _graphed(
    backend: CudaBackend, action: Action, between: Callable[[], None], samples: int
) -> PathTimes:
    cuda = backend.cuda
    side = cuda.Stream(backend.device)
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for _call in range(_WARM_CALLS):
            between()
            action()
    cuda.current_stream().wait_stream(side)
    between()
    graph = cuda.CUDAGraph()
    try:
        with cuda.graph(graph):
            kept = action()
    except RuntimeError as error:
        reason = _("the call cannot be captured: {reason}").format(
            reason=str(error).splitlines()[0][:200]
        )
        return PathTimes("graph", None, None, reasons=dict.fromkeys(_TIMES, reason))
    backend.time(graph.replay, 1)
    blocks = [backend.time(graph.replay, 1) for _sample in range(samples)]
    del kept
    device = tuple(block.device_s for block in blocks)
    host_s = median([block.host_s for block in blocks])
    return PathTimes("graph", median(device), host_s, device)
