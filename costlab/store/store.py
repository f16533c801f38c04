"""The store: one SQLite file of runs and measured points, on a local disk.

Write-ahead logging with full synchronisation loses no acknowledged point when the writer is
killed, and lets others read meanwhile. Points are plain objects (those of ``costlab profile``
with their raw samples); the store knows a point's hash, status and content, no more.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from costlab.errors import StoreError, UnknownNameError
from costlab.i18n import _
from costlab.store.connection import connect, connect_read_only
from costlab.store.faults import worded
from costlab.store.lease import hold, release

Point = Mapping[str, Any]

# Of several results of a point the last one counts, but a cancelled one never hides another, and
# a point that failed before its code was known does not count once it has another result.
_RANKED = """
SELECT {columns}, CASE WHEN point IN (SELECT asked FROM points WHERE run = :run AND asked != point)
THEN 0 ELSE
    ROW_NUMBER() OVER (
        PARTITION BY point ORDER BY status != 'cancelled' DESC, added DESC, number DESC
    )
END AS place FROM points WHERE run = :run
"""


def ranked(columns: str) -> str:
    """A query of ``columns`` of a run's results, with ``place`` 1 where a result counts."""
    return _RANKED.format(columns=columns)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run: when it began (UTC), what was planned, where, and its points by latest status."""

    run: str
    created: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    statuses: Mapping[str, int]

    @property
    def points(self) -> int:
        """How many points have a result."""
        return sum(self.statuses.values())


class Store:
    """An open store. Use as a context manager; one object belongs to one thread.

    Args:
        path: the file; created with its folder unless ``read_only``.
        read_only: look only (an app beside a running sweep).

    Raises:
        StoreError: if the file is no store, of a newer version, damaged, locked, or not there and
            ``read_only``. Every method raises it too when the file fails later.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        try:
            with worded(path):
                self._connection = connect_read_only(path) if read_only else connect(path)
        except StoreError as error:
            if not error.given.startswith(str(path)):
                error.given = f"{path}: {error.given}" if error.given else str(path)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        self._connection.close()

    def start_run(
        self, run: str, plan: Mapping[str, Any], environment: Mapping[str, Any],
        created: str = "",
    ) -> None:  # fmt: skip
        """Add a run without points; one that is there already is left as it is."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?) ON CONFLICT (run) DO NOTHING",
                (run, created or _now(), _text(plan), _text(environment)),
            )

    def add(self, run: str, point: Point, added: str = "") -> bool:
        """Commit ``point`` to ``run``; it is on disk when this returns.

        Its passes go in the same transaction, but for a cancelled point, which goes on with them.

        Args:
            run: which run.
            point: an object with at least "point" (its hash) and "status"; "asked" is the
                hash of what was planned, without the code.
            added: when it was measured (UTC, ISO 8601), for a point from another store.

        Returns:
            False if the run holds the very same content already.

        Raises:
            UnknownNameError: if there is no such run.
        """
        data = _text({**point, "run": run})
        content = hashlib.sha256(data.encode()).hexdigest()
        with self._transaction():
            self._require(run)
            cursor = self._connection.execute(
                "INSERT INTO points (run, point, status, added, content, data, asked) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, content) DO NOTHING",
                (
                    run,
                    point["point"],
                    point["status"],
                    added or self._next(run),
                    content,
                    data,
                    point.get("asked", ""),
                ),
            )
            if point["status"] != "cancelled":
                self._connection.execute(
                    "DELETE FROM passes WHERE run = ? AND point = ?", (run, point["point"])
                )
        return cursor.rowcount == 1

    def add_pass(self, run: str, point: str, data: Mapping[str, Any]) -> None:
        """Commit what one process of an unfinished point has brought."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO passes (run, point, data) VALUES (?, ?, ?)", (run, point, _text(data))
            )

    def passes(self, run: str, point: str) -> list[dict[str, Any]]:
        """What processes of an unfinished point have brought, in the order they ended."""
        with worded(self.path):
            rows = self._connection.execute(
                "SELECT data FROM passes WHERE run = ? AND point = ? ORDER BY number", (run, point)
            )
            return [json.loads(data) for (data,) in rows]

    @contextmanager
    def lease(self, run: str) -> Iterator[None]:
        """Keep other processes from measuring ``run``; a dead process's lease does not count.

        Raises:
            StoreError: if a living process holds it.
        """
        with self._transaction():
            hold(self._connection, run)
        try:
            yield
        finally:
            # On a full disk it ends with the process.
            with contextlib.suppress(StoreError), self._transaction():
                release(self._connection, run)

    def points(self, run: str, *, history: bool = False) -> list[dict[str, Any]]:
        """Points of ``run`` in the order they were added, each with its raw samples.

        Args:
            run: which run.
            history: with the earlier results of points that were measured again.

        Raises:
            UnknownNameError: if there is no such run.
        """
        return [point for _added, point in self.rows(run, history=history)]

    def rows(self, run: str, *, history: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
        """Like :meth:`points`, one by one, each with when it was added."""
        with worded(self.path):
            self._require(run)
            rows = self._connection.execute(
                f"SELECT added, data FROM ({ranked('added, number, data')}) "
                "WHERE place = 1 OR :history "
                "ORDER BY added, number",
                {"run": run, "history": history},
            )
            for added, data in rows:
                yield added, json.loads(data)

    def statuses(self, run: str) -> dict[str, str]:
        """Latest status of every point of ``run``, by the point's hash."""
        with worded(self.path):
            rows = self._connection.execute(
                f"SELECT point, status FROM ({ranked('point, status, added, number')}) "
                "WHERE place = 1 ORDER BY added, number",
                {"run": run},
            )
            return dict(rows.fetchall())

    def asked(self, run: str) -> set[str]:
        """Hashes, without the code, of the points of ``run`` whose code was known."""
        with worded(self.path):
            rows = self._connection.execute(
                "SELECT asked FROM points WHERE run = ? AND asked != point", (run,)
            )
            return {asked for (asked,) in rows}

    def runs(self) -> list[RunInfo]:
        """Every run, oldest first."""
        with worded(self.path):
            rows = self._connection.execute(
                "SELECT run, created, plan, environment FROM runs ORDER BY created, rowid"
            ).fetchall()
        return [self._info(*row) for row in rows]

    def info(self, run: str) -> RunInfo:
        """The run of that name.

        Raises:
            UnknownNameError: if there is none.
        """
        with worded(self.path):
            self._require(run)
            row = self._connection.execute(
                "SELECT run, created, plan, environment FROM runs WHERE run = ?", (run,)
            ).fetchone()
        return self._info(*row)

    def _info(self, run: str, created: str, plan: str, environment: str) -> RunInfo:
        statuses = list(self.statuses(run).values())
        counts = {status: statuses.count(status) for status in dict.fromkeys(statuses)}
        return RunInfo(run, created, json.loads(plan), json.loads(environment), counts)

    def _require(self, run: str) -> None:
        if self._connection.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone() is None:
            names = [name for (name,) in self._connection.execute("SELECT run FROM runs")]
            raise UnknownNameError(_("run"), run, names)

    def _next(self, run: str) -> str:
        """Now, or the time of the run's last point if the clock was set back since."""
        last = self._connection.execute(
            "SELECT MAX(added) FROM points WHERE run = ?", (run,)
        ).fetchone()[0]
        return max(_now(), last or "")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with worded(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk makes SQLite roll back by itself.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))
