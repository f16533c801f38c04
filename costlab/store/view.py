"""A store as an app looks at it: quickly, without raw samples, and never waiting for a writer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from costlab.store.connection import connect_read_only
from costlab.store.faults import worded
from costlab.store.lease import held
from costlab.store.store import ranked

# The bulky column is read for those that are asked for only.
_COUNTED = f"""
SELECT number, status FROM ({ranked("number, status, added")}) WHERE place = 1
"""
_SLIM = "json_remove(data, '$.processes', '$.passes', '$.energy_windows')"
_WAIT_MS = 20


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What never changes about a run; ``created`` is in UTC."""

    run: str
    created: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]


class StoreView:
    """An open look at a store. Use as a context manager.

    Raises:
        StoreError: if there is no such file, or it is damaged, of a newer version, or held by
            another program just now. Every method raises it too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with worded(path):
            self._connection = connect_read_only(path, _WAIT_MS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._connection.close()

    def names(self) -> list[str]:
        """Names of the runs, oldest first."""
        with worded(self._path):
            rows = self._connection.execute("SELECT run FROM runs ORDER BY created, rowid")
            return [name for (name,) in rows]

    def run(self, name: str) -> StoredRun:
        """One of :meth:`names`."""
        with worded(self._path):
            row = self._connection.execute(
                "SELECT run, created, plan, environment FROM runs WHERE run = ?", (name,)
            ).fetchone()
        return StoredRun(row[0], row[1], json.loads(row[2]), json.loads(row[3]))

    def marks(self) -> dict[str, int]:
        """For each run with points a number that is another one when a point has come."""
        with worded(self._path):
            rows = self._connection.execute("SELECT run, MAX(number) FROM points GROUP BY run")
            return dict(rows.fetchall())

    def statuses(self, run: str) -> dict[int, str]:
        """Status of each point of ``run`` by the number of its row, in the order of adding."""
        with worded(self._path):
            rows = self._connection.execute(f"{_COUNTED} ORDER BY added, number", {"run": run})
            return dict(rows.fetchall())

    def points(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """The points of these rows in this order, without their raw samples."""
        with worded(self._path):
            found = []
            for number in numbers:
                (data,) = self._connection.execute(
                    f"SELECT {_SLIM} FROM points WHERE number = ?", (number,)
                ).fetchone()
                found.append(json.loads(data))
            return found

    def measuring(self) -> frozenset[str]:
        """Runs that a living process measures now."""
        with worded(self._path):
            return held(self._connection)
