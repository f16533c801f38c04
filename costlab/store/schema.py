"""Tables of the store and their history.

Version 1: ``runs`` (one row per sweep) and ``points`` (one row per measured point; a point that
is measured again is a new row). Triggers refuse to change or delete either.

Version 2: ``passes`` (what the processes of unfinished points have brought; they go when their
point is committed), ``leases`` (which process measures a run), and ``points.asked`` (the hash of
what was planned, without the code: under it a point fails whose code cannot be read).
"""

from __future__ import annotations

import sqlite3

from costlab.errors import StoreError
from costlab.i18n import _

_VERSION_1 = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    created TEXT NOT NULL,
    plan TEXT NOT NULL,
    environment TEXT NOT NULL
);
CREATE TABLE points (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL REFERENCES runs (run),
    point TEXT NOT NULL,
    status TEXT NOT NULL,
    added TEXT NOT NULL,
    content TEXT NOT NULL,
    data TEXT NOT NULL,
    UNIQUE (run, content)
);
CREATE INDEX points_by_hash ON points (point);
"""
_VERSION_2 = """
CREATE TABLE passes (
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (run),
    point TEXT NOT NULL,
    data TEXT NOT NULL
);
ALTER TABLE points ADD COLUMN asked TEXT NOT NULL DEFAULT '';
CREATE INDEX passes_by_point ON passes (run, point);
CREATE TABLE leases (
    run TEXT PRIMARY KEY REFERENCES runs (run),
    process INTEGER NOT NULL,
    started REAL NOT NULL
);
"""


def _keepers() -> list[str]:
    return [
        f"CREATE TRIGGER {table}_keep_{action.lower()} BEFORE {action} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END"
        for table in ("runs", "points")
        for action in ("UPDATE", "DELETE")
    ]


_STEPS: tuple[tuple[str, ...], ...] = (
    (*_VERSION_1.split(";")[:-1], *_keepers()),
    tuple(_VERSION_2.split(";")[:-1]),
)
"""The statements that lead from each version to the next; the first makes a new store."""

VERSION = len(_STEPS)


def check(connection: sqlite3.Connection) -> int:
    """The version of the store that is open; 0 for a new, empty file.

    Raises:
        StoreError: if a newer CostLab, or another program, has written the file.
    """
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if tables and (version < 1 or not {"runs", "points"} <= tables):
        raise StoreError(_("this is a database of another program"))
    if version > VERSION:
        raise StoreError(
            _("a newer version of CostLab has written this store"),
            given=_("version {number}").format(number=version),
            allowed=_("version {number} or older").format(number=VERSION),
            advice=_("update CostLab, or name another --store"),
        )
    return version


def show_old(connection: sqlite3.Connection, version: int) -> None:
    """Make an old store that may only be read look like one of this version, for reading."""
    if version < 2:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("CREATE TEMP VIEW points AS SELECT *, '' AS asked FROM main.points")
        connection.execute("CREATE TEMP TABLE leases (run TEXT, process INTEGER, started REAL)")


def prepare(connection: sqlite3.Connection) -> None:
    """Create the tables of a new store, and bring an old one to this version in one transaction.

    Raises:
        StoreError: if a newer CostLab, or another program, has written the store.
    """
    if check(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # A second process may be doing the same: whoever comes late finds it done.
        for statements in _STEPS[check(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
