"""Readings as text: a short table for each device, what is missing with its reason below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from costlab.cli.common import table
from costlab.devices.clocks import throttle_reasons
from costlab.devices.readings import Reading, Sample
from costlab.i18n import _
from costlab.units import format_count, format_percent, format_value

_SWITCHES = frozenset({"mig", "persistence"})


def value_text(name: str, reading: Reading) -> str:
    """A reading's value with its unit; "n/a" where it is missing."""
    value = reading.value
    if value is None:
        return "n/a"
    if reading.unit == "fraction":
        return format_percent(value)
    if reading.unit == "bits":
        return ", ".join(throttle_reasons(int(value))) or _("none")
    if reading.unit in ("CPU", "°C"):
        return f"{format_count(value)} {reading.unit}"
    if name in _SWITCHES:
        return _("on") if value else _("off")
    return format_value(value, reading.unit)


def device_text(name: str, sample: Sample) -> str:
    """A device's readings, one a line, and one line for each reason why some are missing."""
    rows = [
        (f"  {key}", value_text(key, reading), reading.source)
        for key, reading in sample.readings.items()
        if reading.value is not None
    ]
    lines = [name]
    if rows:
        # A header of spaces: the table has none.
        lines += table(("", "", ""), rows, right=" r").splitlines()[1:]
    lines += [
        _("  n/a  {names}: {text}").format(names=", ".join(names), text=text)
        for text, names in _missing(sample.readings).items()
    ]
    return "\n".join(lines)


def _missing(readings: Mapping[str, Reading]) -> dict[str, Sequence[str]]:
    """Names of missing readings by the text of their reason; "all" where none is there."""
    found: dict[str, list[str]] = {}
    for name, reading in readings.items():
        if reading.value is None:
            found.setdefault(reading.text, []).append(name)
    if len(found) == 1 and len(*found.values()) == len(readings):
        return {text: [_("all readings")] for text in found}
    return dict(found)
