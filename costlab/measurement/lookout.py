"""How much of a long call shared its core: a second thread on the same core looks every 4 ms.

A call of tens of milliseconds always contains moments with a neighbour, which a probe before and
after it does not see. The thread wakes, takes the core from the call for some microseconds, and
does the fixed work of :mod:`costlab.measurement.shared_core`; its own time is taken off the call's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from costlab.measurement.shared_core import Core, Probe, turn_s

_EVERY_S = 0.004
# Two changes of thread with Python's lock: on the machine where this was written, calls of
# products, attention and cells took 31 to 60 us a look longer than the looks' own time says.
_CHANGE_S = 40e-6


def _look_s() -> float:
    """Seconds of the fixed work. Its first turn finds the caches as the call left them."""
    return min(turn_s(), turn_s())


class Lookout:
    """Looks while a block of calls runs: ``with lookout.watch(): ...``, then read what it saw.

    Args:
        core: the core's quickest probe, and where this thread may run.
        probe: gives the seconds of the fixed work.
        every_s: seconds between two looks.
    """

    def __init__(self, core: Core, probe: Probe = _look_s, every_s: float = _EVERY_S) -> None:
        self._core, self._probe, self._every_s = core, probe, every_s
        self._wanted, self._ended = threading.Event(), threading.Event()
        self._seen: list[tuple[float, float]] = []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def used_s(self) -> float:
        """Seconds that looking took of the last block, changes of thread included."""
        return sum(used_s + _CHANGE_S for _probe_s, used_s in self._seen)

    @property
    def share(self) -> float:
        """The share of looks during the last block that found the core shared; 0 without any."""
        if not self._seen:
            return 0.0
        shared = [not self._core.is_alone(probe_s) for probe_s, _used_s in self._seen]
        return sum(shared) / len(shared)

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._wanted.set()
        self._thread.join()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Look until the block ends, on the core that the calling thread stays on meanwhile."""
        self._seen = []
        self._core.share_with(self._thread.native_id)
        self._wanted.set()
        try:
            yield
        finally:
            self._wanted.clear()

    def _look(self) -> None:
        while True:
            self._wanted.wait()
            time.sleep(self._every_s)
            if self._ended.is_set():
                return
            if self._wanted.is_set():
                start_ns = time.thread_time_ns()
                probe_s = self._probe()
                self._seen.append((probe_s, (time.thread_time_ns() - start_ns) * 1e-9))
