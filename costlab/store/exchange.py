"""Runs as files: JSON keeps everything and can be imported again, CSV is one row per point."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _
from costlab.store.files import write_whole
from costlab.store.store import Store

SCHEMA = "costlab.run/1"
_FORMATS = (".json", ".csv")
_COLUMNS = (
    "run", "point", "architecture", "mode", "dtype", "device", "threads", "status", "time_s",
    "peak_bytes", "rss_peak_bytes", "device_bytes", "energy_j", "power_w", "environment",
)  # fmt: skip


def export_run(store: Store, run: str, path: Path) -> None:
    """Write ``run`` to ``path``; its suffix, ``.json`` or ``.csv``, chooses the format.

    Raises:
        InputError: for another suffix.
        UnknownNameError: if there is no such run.
    """
    if path.suffix not in _FORMATS:
        raise InputError(
            _("unknown format of an export"), given=path.name, allowed=", ".join(_FORMATS)
        )
    points = store.points(run, history=path.suffix == ".json")
    if path.suffix == ".csv":
        write_whole(path, _csv(points))
        return
    info = store.info(run)
    record = {
        "schema": SCHEMA, "run": run, "created": info.created, "plan": info.plan,
        "environment": info.environment, "points": points,
    }  # fmt: skip
    write_whole(path, json.dumps(record, indent=1) + "\n")


def import_run(store: Store, path: Path) -> tuple[str, int]:
    """Add an exported run to ``store``; what is there already is left alone.

    Returns:
        The run and how many points were new.

    Raises:
        InputError: if ``path`` is not an exported run.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            _("the file cannot be read as JSON"), given=str(path), advice=str(error)
        ) from error
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise InputError(
            _("this is not an exported run"), given=f"{path}: {schema}", allowed=SCHEMA
        )
    store.start_run(record["run"], record["plan"], record["environment"])
    return record["run"], sum(store.add(record["run"], point) for point in record["points"])


def _csv(points: list[dict[str, Any]]) -> str:
    sizes = sorted({name for point in points for name in point["sizes"]})
    head = [*_COLUMNS[:6], *sizes, *_COLUMNS[6:], "time_low_s", "time_high_s", "flags", "reasons"]
    text = io.StringIO()
    writer = csv.DictWriter(text, head, lineterminator="\n")
    writer.writeheader()
    for point in points:
        low, high = point.get("time_interval_s") or (None, None)
        writer.writerow(
            {
                **{name: point.get(name) for name in _COLUMNS},
                **point["sizes"],
                "time_low_s": low,
                "time_high_s": high,
                "flags": " ".join(point.get("flags", ())),
                "reasons": "; ".join(f"{k}: {v}" for k, v in point.get("reasons", {}).items()),
            }
        )
    return text.getvalue()
