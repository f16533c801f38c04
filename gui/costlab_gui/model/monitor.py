"""Live readings of this machine: one thread asks, the window takes what is there and never waits.

NVML's driver holds a lock while it answers and may not answer at all. So there is one thread for
all devices, costly readings are asked for rarely, and while something is measured memory alone is
asked for.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from costlab.devices.readers import DeviceReader, partial_query
from costlab.devices.readings import Sample, missing
from costlab.devices.system import open_readers
from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.devices.recording import Recording

PERIODS_S = (1.0, 0.5, 0.25)
KEPT_S = 120.0
_RARE_S = 4.0
_SILENT_S = 3.0
_JOIN_S = 0.2

Open = Callable[[], Sequence[DeviceReader]]


@dataclass(frozen=True, slots=True)
class Device:
    """One device with its latest samples, oldest first.

    A reading that was not taken in a round stands in its sample as it was last read.
    """

    id: str
    name: str
    kind: str
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known at one moment.

    Attributes:
        devices: the CPU first; empty until the first answer.
        now_s: the moment, on the clock of the samples.
        silent_s: how long no device has answered; 0 while answers come in time.
        recording: the file that is being written.
        problem: why recording ended, or readings did; "" if neither.
    """

    devices: tuple[Device, ...] = ()
    now_s: float = 0.0
    silent_s: float = 0.0
    recording: Path | None = None
    problem: str = ""

    @property
    def stalled(self) -> bool:
        return self.silent_s > 0

    @property
    def silence(self) -> str:
        """Words for devices that do not answer; "" while they do."""
        if not self.stalled:
            return ""
        return _("no answer for {seconds} s").format(seconds=int(self.silent_s))


class Monitor:
    """Polls while somebody watches: :meth:`attach` and :meth:`detach` once each.

    Args:
        open: makes the readers, in the thread: opening NVML may take seconds.
        clock: seconds, as in the samples.
    """

    def __init__(
        self, open: Open = open_readers, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._open = open
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._watchers = 0
        self._period_s = PERIODS_S[0]
        self._memory_only = False
        self._devices: dict[str, tuple[str, str]] = {}
        self._samples: dict[str, deque[Sample]] = {}
        self._heard_s = 0.0
        self._path: Path | None = None
        self._problem = ""

    @property
    def period_s(self) -> float:
        """Time between two rounds, one of ``PERIODS_S``; a second while memory alone is read."""
        return PERIODS_S[0] if self._memory_only else self._period_s

    @period_s.setter
    def period_s(self, period_s: float) -> None:
        self._period_s = max(period_s, min(PERIODS_S))
        self._wake.set()

    @property
    def memory_only(self) -> bool:
        """Whether memory alone is read, once a second: set it while something is measured."""
        return self._memory_only

    @memory_only.setter
    def memory_only(self, memory_only: bool) -> None:
        self._memory_only = memory_only

    def attach(self) -> None:
        """Poll from now on."""
        with self._lock:
            self._watchers += 1
            # A thread that hangs in the driver goes on with its work once it is answered.
            if self._thread is None:
                self._heard_s = self._clock()
                self._thread = threading.Thread(
                    target=self._run, name="costlab-monitor", daemon=True
                )
                self._thread.start()

    def detach(self) -> None:
        """Stop polling if nobody else watches. A thread that hangs is not waited for."""
        with self._lock:
            self._watchers -= 1
            thread = self._thread
            if self._watchers or thread is None:
                return
        self._wake.set()
        if not self.snapshot().stalled:
            thread.join(_JOIN_S)

    def record(self, path: Path | None) -> None:
        """Write every round from now on to ``path``; None ends that."""
        with self._lock:
            self._path, self._problem = path, ""
        self._wake.set()

    def snapshot(self) -> Snapshot:
        """What is known now; returns at once."""
        now_s = self._clock()
        with self._lock:
            devices = tuple(
                Device(id, name, kind, tuple(self._samples[id]))
                for id, (name, kind) in self._devices.items()
            )
            silent_s = now_s - self._heard_s if self._thread is not None else 0.0
            late = silent_s > max(_SILENT_S, 3 * self.period_s)
            return Snapshot(devices, now_s, silent_s if late else 0.0, self._path, self._problem)

    def _run(self) -> None:
        readers: Sequence[DeviceReader] = ()
        log = _Log()
        try:
            readers = self._open()
            with self._lock:
                self._devices = {one.id: (one.name, one.kind) for one in readers}
                self._samples = {one.id: self._samples.get(one.id, deque()) for one in readers}
            self._rounds(readers, log)
        except Exception as error:
            with self._lock:
                self._problem = _("readings ended: {error}").format(error=_words(error))
        finally:
            log.close()
            # The first GPU holds the session of all, so it goes last.
            for reader in reversed(readers):
                reader.close()
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _rounds(self, readers: Sequence[DeviceReader], log: _Log) -> None:
        rare_s = float("-inf")
        while True:
            self._wake.clear()
            begin_s = self._clock()
            with self._lock:
                if not self._watchers:
                    # Decided under the lock, so that whoever attaches next starts another.
                    self._thread = None
                    return
                path = self._path
            part = "memory" if self._memory_only else "quick"
            if part == "memory":
                rare_s = float("-inf")
            elif begin_s - rare_s >= _RARE_S:
                part, rare_s = "every", begin_s
            found = [partial_query(reader, part)() for reader in readers]
            self._write(log, path, readers, found)
            self._keep(found, paused=part == "memory")
            self._wake.wait(max(begin_s + self.period_s - self._clock(), 0.0))

    def _keep(self, found: Sequence[Sample], paused: bool) -> None:
        with self._lock:
            self._heard_s = self._clock()
            for sample in found:
                kept = self._samples[sample.device]
                before = kept[-1] if kept else None
                kept.append(merged(before and _paused(before) if paused else before, sample))
                while kept[0].time_s < sample.time_s - KEPT_S:
                    kept.popleft()

    def _write(
        self,
        log: _Log,
        path: Path | None,
        readers: Sequence[DeviceReader],
        found: Sequence[Sample],
    ) -> None:
        try:
            log.write(path, readers, self.period_s, found)
        except OSError as error:
            log.close()
            with self._lock:
                self._path = None
                self._problem = _("recording ended: {error}").format(error=_words(error))


class _Log:
    """The recording of the thread: opened, continued and closed as the path asks."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._recording: Recording | None = None

    def write(
        self,
        path: Path | None,
        readers: Sequence[DeviceReader],
        period_s: float,
        found: Sequence[Sample],
    ) -> None:
        if path != self._path:
            self.close()
            if path is not None:
                from costlab.devices.recording import Recording

                self._recording = Recording(path, readers, period_s=period_s)
                self._path = path
        if self._recording is not None:
            for sample in found:
                self._recording.add(sample)

    def close(self) -> None:
        if self._recording is not None:
            self._recording.close()
        self._path = self._recording = None


def merged(before: Sample | None, sample: Sample) -> Sample:
    """``sample`` with what it did not read as ``before`` had it."""
    if before is None:
        return sample
    readings = {**before.readings, **sample.readings}
    return Sample(sample.time_s, sample.cost_s, sample.device, readings)


def _paused(sample: Sample) -> Sample:
    """``sample`` as it says nothing of now: what was missing keeps its reason."""
    readings = {
        name: one if one.value is None else missing(one.unit, "paused")
        for name, one in sample.readings.items()
    }
    return Sample(sample.time_s, sample.cost_s, sample.device, readings)


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"
