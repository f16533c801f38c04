"""Takes samples in a thread of its own at a fixed period, and measures what that costs.

The thread sleeps between samples, never spins. Ticks are counted from the start, so that periods
do not drift; a tick that comes too late is skipped and counted, not made up for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from costlab.devices.readers import TraceEnded
from costlab.devices.readings import Sample


@dataclass(frozen=True, slots=True)
class SamplerCost:
    """What sampling took: samples, ticks missed, wall-clock time and CPU time of the thread."""

    samples: int
    missed: int
    wall_s: float
    cpu_s: float
    elapsed_s: float

    @property
    def cpu_fraction(self) -> float | None:
        """Share of one CPU that the sampler used; None before any time has passed."""
        return self.cpu_s / self.elapsed_s if self.elapsed_s > 0 else None


class Sampler:
    """A thread that calls every reader once per period; a context manager.

    Args:
        reads: what to call, such as ``GpuReader.read``; a trace that ends is no longer called.
        period_s: time between the starts of two rounds.
        on_round: called in the thread with the samples of each round.
        keep: whether :attr:`samples` keeps them.

    An exception in the thread is raised by :meth:`stop`.

    Example:
        >>> from costlab.devices.cpu import CpuReader
        >>> with Sampler([CpuReader().read], period_s=0.01) as sampler:
        ...     _ = sum(range(1000))
        >>> len(sampler.samples) >= 1
        True
    """

    def __init__(
        self,
        reads: Sequence[Callable[[], Sample]],
        *,
        period_s: float = 0.1,
        on_round: Callable[[tuple[Sample, ...]], object] | None = None,
        keep: bool = True,
    ) -> None:
        if period_s <= 0:
            raise ValueError(f"a period of {period_s} s is not positive")
        self._reads = list(reads)
        self._period_s = period_s
        self._on_round = on_round
        self._keep = keep
        self._samples: list[Sample] = []
        self._count = self._missed = 0
        self._wall_s = self._cpu_s = 0.0
        self._begin_s = self._end_s = 0.0
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="costlab-sampler", daemon=True)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """What was sampled up to now, in order of time."""
        return tuple(self._samples)

    @property
    def cost(self) -> SamplerCost:
        """What sampling has taken up to now."""
        end_s = self._end_s or time.monotonic()
        elapsed_s = end_s - self._begin_s if self._begin_s else 0.0
        return SamplerCost(self._count, self._missed, self._wall_s, self._cpu_s, elapsed_s)

    def start(self) -> Sampler:
        """Start the thread."""
        self._begin_s = time.monotonic()
        self._thread.start()
        return self

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until every trace has ended; True if so, False after ``timeout_s``."""
        return self._ended.wait(timeout_s)

    def stop(self) -> tuple[Sample, ...]:
        """Take one last round, end the thread, and return all samples.

        Raises:
            Exception: what a reader or ``on_round`` raised in the thread.
        """
        self._ended.set()
        self._thread.join()
        self._end_s = self._end_s or time.monotonic()
        if self._error is not None:
            raise self._error
        return self.samples

    def __enter__(self) -> Sampler:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self) -> None:
        tick = 0
        try:
            while True:
                last = self._ended.is_set()
                self._round()
                if last or not self._reads:
                    break
                passed = int((time.monotonic() - self._begin_s) / self._period_s)
                # A wait may end a moment early.
                due = max(passed, tick) + 1
                self._missed += due - tick - 1
                tick = due
                self._ended.wait(self._begin_s + tick * self._period_s - time.monotonic())
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    def _round(self) -> None:
        wall_s, cpu_s = time.perf_counter(), time.thread_time()
        samples = []
        for read in list(self._reads):
            try:
                samples.append(read())
            except TraceEnded:
                self._reads.remove(read)
        self._count += len(samples)
        if self._keep:
            self._samples.extend(samples)
        if self._on_round is not None and samples:
            self._on_round(tuple(samples))
        self._wall_s += time.perf_counter() - wall_s
        self._cpu_s += time.thread_time() - cpu_s
