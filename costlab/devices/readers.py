"""The one interface through which readings are taken, and its twins that need no device."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from costlab.devices.readings import Reading, Sample, missing


class DeviceReader(Protocol):
    """Takes the readings of one device; nothing is changed on the device.

    ``id`` is stable (a UUID, "cpu"), ``name`` is for people, ``kind`` is "cpu" or "gpu".
    """

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    def read(self) -> Sample:
        """Take every reading now. A reading that fails is missing; this does not raise.

        Raises:
            TraceEnded: from a replay that has no more samples.
        """
        ...

    def close(self) -> None:
        """Let go of the library or files; reading afterwards is not possible."""
        ...


class TraceEnded(Exception):
    """A replayed trace has no more samples of the device."""


def take(
    device: str,
    queries: Mapping[str, Callable[[], Reading]],
    clock: Callable[[], float] = time.monotonic,
) -> Sample:
    """Ask every query in order and stamp the sample."""
    begin = clock()
    readings = {name: query() for name, query in queries.items()}
    return Sample(begin, clock() - begin, device, readings)


def partial_query(reader: DeviceReader, part: str) -> Callable[[], Sample]:
    """The cheapest way in which ``reader`` reads a part of its readings.

    Args:
        reader: of any device; one that reads everything at once is asked for everything.
        part: "energy" (with power, may be asked every few milliseconds), "quick" (all but what
            takes milliseconds), "memory" or "every".
    """
    query: Callable[[], Sample] = getattr(reader, f"read_{part}", reader.read)
    return query


class NullReader:
    """Stands in for a device that cannot be read: every reading is missing, for one reason."""

    def __init__(
        self, kind: str, units: Mapping[str, str], reason: str, text: str = "", *, id: str = ""
    ) -> None:
        self.kind = kind
        self.id = id or kind
        self.name = kind.upper()
        self.reason = reason
        self._readings = {name: missing(unit, reason, text) for name, unit in units.items()}

    def read(self) -> Sample:
        """Every reading, missing."""
        return Sample(time.monotonic(), 0.0, self.id, self._readings)

    def close(self) -> None:
        """Do nothing."""


class ReplayReader:
    """Plays recorded samples of one device, with the times at which they were taken."""

    def __init__(self, samples: Iterable[Sample], *, id: str, name: str, kind: str) -> None:
        self.id = id
        self.name = name
        self.kind = kind
        self._samples = iter([sample for sample in samples if sample.device == id])

    def read(self) -> Sample:
        """The next recorded sample.

        Raises:
            TraceEnded: after the last one.
        """
        for sample in self._samples:
            return sample
        raise TraceEnded(self.id)

    def close(self) -> None:
        """Do nothing."""
