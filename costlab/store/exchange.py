"""Runs as files. JSON and JSON lines keep everything and can be imported again; CSV and Parquet
are one row per point, for other programs.

A ``.json`` is one object. A ``.jsonl`` is a shard: a head line about the run, then one line for
each result, so that a file that was cut short still gives the lines before the cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _
from costlab.store.files import write_whole
from costlab.store.flat import to_csv, to_parquet
from costlab.store.store import Store

RUN_SCHEMA = "costlab.run/1"
SHARD_SCHEMA = "costlab.shard/1"


def export_run(store: Store, run: str, path: Path) -> None:
    """Write ``run`` to ``path``; its suffix chooses the format (see ``FORMATS``).

    Raises:
        InputError: for another suffix, for Parquet without pyarrow, or if ``path`` cannot be
            written; what was there before is then still there.
        UnknownNameError: if there is no such run.
    """
    write = _WRITERS.get(path.suffix)
    if write is None:
        raise InputError(
            _("unknown format of an export"), given=path.name, allowed=", ".join(FORMATS)
        )
    write_whole(path, write(store, run))


def _json(store: Store, run: str) -> str:
    rows = list(store.rows(run))
    record = {
        "schema": RUN_SCHEMA, **_head(store, run),
        "points": [point for _added, point in rows], "added": [added for added, _point in rows],
    }  # fmt: skip
    return json.dumps(record, indent=1) + "\n"


def _lines(store: Store, run: str) -> str:
    rows = [{"added": added, "point": point} for added, point in store.rows(run)]
    lines = [{"schema": SHARD_SCHEMA, **_head(store, run)}, *rows]
    return "".join(json.dumps(line) + "\n" for line in lines)


def _head(store: Store, run: str) -> dict[str, Any]:
    info = store.info(run)
    return {
        "run": run, "created": info.created, "plan": info.plan, "environment": info.environment,
    }  # fmt: skip


_WRITERS: dict[str, Callable[[Store, str], str | bytes]] = {
    ".json": _json,
    ".jsonl": _lines,
    ".csv": lambda store, run: to_csv(store.points(run)),
    ".parquet": lambda store, run: to_parquet(store.points(run)),
}
FORMATS = tuple(_WRITERS)
"""The suffixes of exports."""
