"""The store: one SQLite file of runs and measured points, on a local disk.

Write-ahead logging with full synchronisation loses no acknowledged point when the writer is
killed, and lets others read meanwhile. Points are plain objects (those of ``costlab profile``
with their raw samples); the store knows a point's hash, status and content, no more.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from costlab.errors import InputError, UnknownNameError
from costlab.i18n import _
from costlab.store.schema import prepare

_BUSY_MS = 10_000
Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run: when it began (UTC), what was planned, where, and how many points it has."""

    run: str
    created: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    points: int


class Store:
    """An open store. Use as a context manager; one object belongs to one thread.

    Args:
        path: the file; created with its folder unless ``read_only``.
        read_only: look only (an app beside a running sweep).

    Raises:
        InputError: if the file is no store, or is not there and ``read_only``.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        try:
            if read_only:
                uri = f"{path.resolve().as_uri()}?mode=ro"
                self._connection = sqlite3.connect(uri, uri=True, isolation_level=None)
                self._connection.execute("SELECT run FROM runs LIMIT 1")
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = sqlite3.connect(path, isolation_level=None)
            self._connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            if not read_only:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.execute("PRAGMA foreign_keys = ON")
                prepare(self._connection)
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                _("the store cannot be opened"), given=str(path), advice=str(error)
            ) from error

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        self._connection.close()

    def start_run(self, run: str, plan: Mapping[str, Any], environment: Mapping[str, Any]) -> None:
        """Add a run without points; one that is there already is left as it is."""
        self._connection.execute(
            "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?)",
            (run, _now(), _text(plan), _text(environment)),
        )

    def add(self, run: str, point: Point) -> bool:
        """Commit ``point`` to ``run``; it is on disk when this returns.

        Returns:
            False if the run holds the very same content already.

        Raises:
            UnknownNameError: if there is no such run.
        """
        self._require(run)
        data = _text({**point, "run": run})
        content = hashlib.sha256(data.encode()).hexdigest()
        row = (run, point["point"], point["status"], _now(), content, data)
        cursor = self._connection.execute(
            "INSERT OR IGNORE INTO points (run, point, status, added, content, data) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            row,
        )
        return cursor.rowcount == 1

    def points(self, run: str, *, history: bool = False) -> list[dict[str, Any]]:
        """Points of ``run`` in the order they were added, each with its raw samples.

        Args:
            run: which run.
            history: with the earlier results of points that were measured again.

        Raises:
            UnknownNameError: if there is no such run.
        """
        self._require(run)
        latest = "" if history else (
            "AND number IN (SELECT MAX(number) FROM points WHERE run = :run GROUP BY point)"
        )  # fmt: skip
        rows = self._connection.execute(
            f"SELECT data FROM points WHERE run = :run {latest} ORDER BY number", {"run": run}
        )
        return [json.loads(data) for (data,) in rows]

    def statuses(self, run: str) -> dict[str, str]:
        """Latest status of every point of ``run``, by the point's hash."""
        rows = self._connection.execute(
            "SELECT point, status FROM points WHERE run = ? ORDER BY number", (run,)
        )
        return dict(rows.fetchall())

    def runs(self) -> list[RunInfo]:
        """Every run, oldest first."""
        rows = self._connection.execute(
            "SELECT run, created, plan, environment, "
            "(SELECT COUNT(DISTINCT point) FROM points WHERE points.run = runs.run) "
            "FROM runs ORDER BY created, rowid"
        )
        return [
            RunInfo(run, created, json.loads(plan), json.loads(environment), points)
            for run, created, plan, environment, points in rows
        ]

    def info(self, run: str) -> RunInfo:
        """The run of that name.

        Raises:
            UnknownNameError: if there is none.
        """
        self._require(run)
        return next(info for info in self.runs() if info.run == run)

    def _require(self, run: str) -> None:
        if self._connection.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone() is None:
            names = [name for (name,) in self._connection.execute("SELECT run FROM runs")]
            raise UnknownNameError(_("run"), run, names)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))
