"""Recorded traces: JSON lines, a header with the devices and then one sample per line.

Each line is written whole and at once, so that a trace cut off at any moment is readable up to its
last whole line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from costlab.devices.environment import Environment, fingerprint
from costlab.devices.readers import DeviceReader, ReplayReader
from costlab.devices.readings import Sample
from costlab.errors import InputError
from costlab.i18n import _

SCHEMA = "costlab.trace/1"


class Recording:
    """Writes a trace; samples of several devices may be mixed.

    Raises:
        OSError: if the file cannot be written, also later, by :meth:`add`.
    """

    def __init__(
        self,
        path: Path,
        readers: Sequence[DeviceReader],
        *,
        period_s: float,
        environment: Environment | None = None,
    ) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._write({
            "schema": SCHEMA,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "period_s": period_s,
            "devices": [
                {"id": reader.id, "name": reader.name, "kind": reader.kind} for reader in readers
            ],
            "environment": (environment or fingerprint()).to_json(),
        })  # fmt: skip

    def add(self, sample: Sample) -> None:
        """Append one sample."""
        self._write(sample.to_json())

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _write(self, data: dict[str, Any]) -> None:
        line = (json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n").encode()
        while line:
            line = line[os.write(self._descriptor, line) :]


def load_trace(path: Path) -> tuple[list[ReplayReader], float]:
    """Readers that play the recorded devices, and the period at which they were read.

    Raises:
        InputError: if the file is no trace, or a line other than the last is broken.
        OSError: if it cannot be read.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    header = _parse(lines[0])
    if header is None or header.get("schema") != SCHEMA:
        raise InputError(
            _("no recorded trace"),
            given=str(path),
            allowed=_("a file that `costlab monitor --record` wrote ({schema})").format(
                schema=SCHEMA
            ),
        )
    try:
        samples = list(_samples(path, lines[1:]))
        period_s = float(header["period_s"])
        readers = [
            ReplayReader(samples, id=one["id"], name=one["name"], kind=one["kind"])
            for one in header["devices"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(_("a broken trace"), given=f"{path}: {error!r}") from None
    return readers, period_s


def _samples(path: Path, lines: Sequence[str]) -> Iterable[Sample]:
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        data = _parse(line)
        if data is not None:
            yield Sample.from_json(data)
        elif number <= len(lines):
            raise InputError(_("a broken line in a trace"), given=f"{path}:{number}")


def _parse(line: str) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
