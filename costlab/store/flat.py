"""Points as a table: one row each, one column for each size, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _

_BEFORE = ("run", "point", "architecture", "mode", "dtype", "device")
_AFTER = (
    "threads", "status", "time_s", "peak_bytes", "rss_peak_bytes", "device_bytes", "energy_j",
    "power_w", "environment", "time_low_s", "time_high_s", "flags", "reasons",
)  # fmt: skip
_REALS = frozenset({"time_s", "time_low_s", "time_high_s", "energy_j", "power_w"})
_COUNTS = frozenset({"threads", "peak_bytes", "rss_peak_bytes", "device_bytes"})
_PYARROW = "pip install pyarrow"


def columns(points: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The table by column; a missing value is None. Times in seconds, energy in joules."""
    sizes = sorted({name for point in points for name in point["sizes"]})
    rows = [_row(point) for point in points]
    return {name: [row.get(name) for row in rows] for name in (*_BEFORE, *sizes, *_AFTER)}


def to_csv(points: Sequence[Mapping[str, Any]]) -> str:
    """The table as CSV with a head line; an empty cell is a missing value."""
    table = columns(points)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue()


def to_parquet(points: Sequence[Mapping[str, Any]]) -> bytes:
    """The table as Parquet: strings, float64 and int64, all of them nullable.

    Raises:
        InputError: if pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(
            _("Parquet needs pyarrow, which is not installed"), given=str(error), advice=_PYARROW
        ) from error
    table = columns(points)
    # A column of missing values alone still has its type, so that files of several runs join.
    kinds = {
        name: pyarrow.float64() if name in _REALS
        else pyarrow.int64() if name in _COUNTS or name not in (*_BEFORE, *_AFTER)
        else pyarrow.string()
        for name in table
    }  # fmt: skip
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(table, pyarrow.schema(list(kinds.items()))), sink)
    return bytes(sink.getvalue())


def _row(point: Mapping[str, Any]) -> dict[str, Any]:
    low, high = point.get("time_interval_s") or (None, None)
    return {
        **point["sizes"],
        **{name: point.get(name) for name in (*_BEFORE, *_AFTER)},
        "time_low_s": low,
        "time_high_s": high,
        "flags": " ".join(point.get("flags", ())),
        "reasons": "; ".join(f"{name}: {why}" for name, why in point.get("reasons", {}).items()),
    }
