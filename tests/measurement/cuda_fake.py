"""A recording stand-in for ``torch.cuda``: one device with a timeline, and nothing computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

L2_BYTES = 50 * 2**20
UUID = "6f1c2d3e-0000-1111-2222-333344445555"


class Event:
    """Keeps the moment at which the device reaches it; only as good as the fake's timeline."""

    def __init__(self, cuda: FakeCuda) -> None:
        self._cuda = cuda
        self.at_s = 0.0

    def record(self) -> None:
        self._cuda.log("record")
        self.at_s = self._cuda.busy_until()

    def query(self) -> bool:
        self._cuda.log("query")
        return self._cuda.now_s >= self.at_s

    def synchronize(self) -> None:
        self._cuda.log("event.synchronize")
        self._cuda.now_s = max(self._cuda.now_s, self.at_s)

    def elapsed_time(self, end: Event) -> float:
        return (end.at_s - self.at_s) * 1e3


class FakeCuda:
    """What ``CudaBackend`` uses of ``torch.cuda``, with a clock of its own.

    The device works through its stream in order; ``side_s`` is when another stream is done.
    """

    def __init__(self, devices: int = 1, cycles_per_s: float = 2e9) -> None:
        self.calls: list[str] = []
        self.now_s = 100.0
        self.stream_s = 0.0
        self.side_s = 0.0
        self.issued_s = 0.0
        self.devices = devices
        self.cycles_per_s = cycles_per_s
        self.stats: dict[str, int] = {"num_alloc_retries": 0, "num_ooms": 0}
        self.capture_error: str = ""
        self.current: Any = None

    def log(self, name: str) -> None:
        self.calls.append(name)

    def busy_until(self) -> float:
        return max(self.now_s, self.stream_s)

    def clock(self) -> float:
        return self.now_s

    def launch(self, device_s: float, host_s: float = 0.0) -> None:
        """A kernel on the stream that takes the CPU ``host_s`` to issue."""
        self.log("launch")
        self.now_s += host_s
        self.issued_s += device_s
        self.stream_s = self.busy_until() + device_s

    # -- the surface of torch.cuda ----------------------------------------------------------------

    def init(self) -> None:
        if not self.devices:
            raise RuntimeError("Found no NVIDIA driver on your system.\nMore lines.")

    def device_count(self) -> int:
        return self.devices

    def set_device(self, device: Any) -> None:
        self.current = device

    def get_device_properties(self, device: Any) -> Any:
        class Properties:
            uuid = UUID
            L2_cache_size = L2_BYTES

        return Properties

    def Event(self, enable_timing: bool) -> Event:
        assert enable_timing
        return Event(self)

    def synchronize(self, device: Any) -> None:
        self.log("synchronize")
        self.now_s = max(self.now_s, self.stream_s, self.side_s)

    def empty_cache(self) -> None:
        self.log("empty_cache")

    def reset_peak_memory_stats(self, device: Any) -> None:
        self.log("reset_peak_memory_stats")
        for name in [name for name in self.stats if name.endswith(".current")]:
            self.stats[name.replace(".current", ".peak")] = self.stats[name]

    def memory_stats(self, device: Any) -> dict[str, int]:
        return dict(self.stats)

    def hold(self, requested: int, allocated: int, reserved: int) -> None:
        """Set what is alive now; peaks follow."""
        for layer, value in (
            ("requested_bytes", requested),
            ("allocated_bytes", allocated),
            ("reserved_bytes", reserved),
        ):
            self.stats[f"{layer}.all.current"] = value
            peak = f"{layer}.all.peak"
            self.stats[peak] = max(self.stats.get(peak, 0), value)

    def _sleep(self, cycles: int) -> None:
        self.log("sleep")
        self.stream_s = self.busy_until() + cycles / self.cycles_per_s

    def Stream(self, device: Any) -> Any:
        return self

    def current_stream(self) -> Any:
        return self

    def wait_stream(self, other: Any) -> None:
        self.log("wait_stream")

    @contextmanager
    def stream(self, side: Any) -> Iterator[None]:
        self.log("side stream")
        yield
        self.log("main stream")

    def CUDAGraph(self) -> FakeGraph:
        return FakeGraph(self)

    @contextmanager
    def graph(self, graph: FakeGraph) -> Iterator[None]:
        self.log("capture")
        stream_s, issued_s = self.stream_s, self.issued_s
        yield
        # Nothing runs while it is captured.
        graph.device_s = self.issued_s - issued_s
        self.stream_s = stream_s
        if self.capture_error:
            raise RuntimeError(self.capture_error)
        self.log("captured")


class FakeGraph:
    """Issues what it captured at once."""

    def __init__(self, cuda: FakeCuda) -> None:
        self._cuda = cuda
        self.device_s = 0.0

    def replay(self) -> None:
        self._cuda.log("replay")
        self._cuda.stream_s = self._cuda.busy_until() + self.device_s


class Buffer:
    """What the flush writes."""

    def __init__(self, cuda: FakeCuda, count: int) -> None:
        self._cuda = cuda
        cuda.log(f"allocate {count}")

    def zero_(self) -> None:
        self._cuda.log("flush")
