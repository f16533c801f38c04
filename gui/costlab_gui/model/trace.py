"""A recorded trace, opened to be looked at: every sample, and what was known at any moment."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from costlab.devices.readers import ReplayReader, TraceEnded
from costlab.devices.readings import Sample
from costlab.devices.recording import load_trace
from costlab.errors import InputError
from costlab.i18n import _
from costlab_gui.model.monitor import Device, merged


@dataclass(frozen=True, slots=True)
class Trace:
    """A recording by ``costlab monitor --record`` or by the app; times are those of its clock."""

    path: Path
    devices: tuple[Device, ...]
    period_s: float
    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.begin_s

    def at(self, device: Device, time_s: float) -> Sample | None:
        """The last sample of ``device`` up to ``time_s``; None before the first."""
        index = bisect_right(device.samples, time_s, key=lambda sample: sample.time_s)
        return device.samples[index - 1] if index else None


def open_trace(path: Path) -> Trace:
    """Read a whole trace; one that was cut off is read up to its last whole line.

    Raises:
        InputError: if the file cannot be read, is no trace, or has no samples.
    """
    try:
        readers, period_s = load_trace(path)
    except OSError as error:
        raise InputError(
            _("the trace cannot be read"), given=f"{path}: {error.strerror}"
        ) from error
    devices = tuple(Device(one.id, one.name, one.kind, tuple(_samples(one))) for one in readers)
    times = [sample.time_s for one in devices for sample in (*one.samples[:1], *one.samples[-1:])]
    if not times:
        raise InputError(_("the trace has no samples"), given=str(path))
    return Trace(path, devices, period_s, min(times), max(times))


def _samples(reader: ReplayReader) -> list[Sample]:
    found: list[Sample] = []
    while True:
        try:
            found.append(merged(found[-1] if found else None, reader.read()))
        except TraceEnded:
            return found
