"""What a device reader returns: a value with its unit, or null with a reason. Never 0 for missing.

Units: J, W, Hz, °C, B, s, "fraction" (0 to 1), "CPU" (1 is one CPU kept busy), "bits" (a set of
flags), "" (a count).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costlab.devices.reasons import text_of


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading: ``value`` in ``unit``, or None with the code and the text of the reason.

    ``source`` names what was read (a field, a file), since readings of one quantity may mean
    different things: an instant or an average, a chip or a whole module.

    Raises:
        ValueError: if there is neither a value nor a reason, or both, or a value is not finite.
    """

    value: float | None
    unit: str
    source: str = ""
    reason: str = ""
    text: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError("a reading has either a value or a reason")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"a reading of {self.value} is no number")

    def to_json(self) -> dict[str, Any]:
        """Plain data; fields that are empty are left out, ``value`` never is."""
        data: dict[str, Any] = {"value": self.value, "unit": self.unit}
        for name in ("source", "reason", "text"):
            if getattr(self, name):
                data[name] = getattr(self, name)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reading:
        """Inverse of :meth:`to_json`."""
        return cls(**data)


def missing(unit: str, reason: str, text: str = "", source: str = "") -> Reading:
    """A reading that is not there; ``text`` defaults to the line of the table of reasons."""
    return Reading(None, unit, source, reason, text or text_of(reason))


@dataclass(frozen=True, slots=True)
class Sample:
    """All readings of one device at one moment.

    ``time_s`` is :func:`time.monotonic` when reading began and ``cost_s`` how long it took: a
    value holds for some moment in between. ``device`` is the reader's id.
    """

    time_s: float
    cost_s: float
    device: str
    readings: Mapping[str, Reading]

    def get(self, name: str, unit: str = "") -> Reading:
        """The reading ``name``; one that this device does not have is missing too."""
        return self.readings.get(name) or missing(unit, "not_read")

    def to_json(self) -> dict[str, Any]:
        """Plain data, one line of a recorded trace."""
        return {
            "time_s": self.time_s,
            "cost_s": self.cost_s,
            "device": self.device,
            "readings": {name: reading.to_json() for name, reading in self.readings.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sample:
        """Inverse of :meth:`to_json`."""
        readings = {name: Reading.from_json(value) for name, value in data["readings"].items()}
        return cls(float(data["time_s"]), float(data["cost_s"]), str(data["device"]), readings)
