"""Calibration records on disk: one JSON file each, the newest that fits is used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from costlab.errors import InputError
from costlab.hardware.calibration_record import CalibrationRecord
from costlab.i18n import _
from costlab.store import home
from costlab.store.files import write_whole

if TYPE_CHECKING:
    from costlab.devices import Environment


def folder() -> Path:
    """Where records are kept."""
    return home() / "calibration"


def save(record: CalibrationRecord) -> Path:
    """Write ``record`` to a file of its own; return the file."""
    moment = record.date.replace(":", "").replace("+0000", "Z")
    device = record.device.replace(":", "-")
    path = folder() / f"{device}-{record.dtype}-{record.threads}t-{moment}.json"
    write_whole(path, json.dumps(record.to_json(), indent=1) + "\n")
    return path


def records() -> Iterator[CalibrationRecord]:
    """Every readable record, newest first; files of another schema are passed over."""
    found = []
    for path in folder().glob("*.json"):
        try:
            found.append(CalibrationRecord.from_json(json.loads(path.read_text("utf-8"))))
        except (InputError, OSError, ValueError, KeyError, TypeError):
            continue
    yield from sorted(found, key=lambda record: record.date, reverse=True)


def load_latest(
    device: str = "cpu", threads: int = 1, dtype: str = "float32", *, stale: bool = False
) -> CalibrationRecord | None:
    """The newest record of this device, thread count and dtype, or None.

    Args:
        device: "cpu", "cuda:0", ...
        threads: threads it was measured with.
        dtype: dtype it was measured with.
        stale: also accept one from another environment (see :func:`staleness`).
    """
    for record in records():
        if (record.device, record.threads, record.dtype) != (device, threads, dtype):
            continue
        if stale or not staleness(record):
            return record
    return None


def staleness(record: CalibrationRecord, here: Environment | None = None) -> tuple[str, ...]:
    """What has changed since ``record`` was made, in words; empty if it holds."""
    from costlab.devices import fingerprint  # reads the machine: only where there is a record

    here = here or fingerprint()
    then = record.environment
    if then.id == here.id:
        return ()
    changes = []
    for name, text in (
        ("cpu", _("processor")), ("logical_cores", _("CPUs")), ("affinity", _("CPU affinity")),
        ("cgroup_cpus", _("CPU limit")), ("torch", "torch"), ("python", "Python"),
        ("gpus", "GPU"), ("variables", _("environment variables")),
    ):  # fmt: skip
        before, now = getattr(then, name), getattr(here, name)
        if before != now:
            changes.append(f"{text}: {_plain(before)} -> {_plain(now)}")
    return tuple(changes) or (_("the machine"),)


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(getattr(item, "name", str(item)) for item in value) or _("none")
    return str(value)
