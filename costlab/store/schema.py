"""Tables of the store and their history.

Version 1: ``runs`` (one row per sweep) and ``points`` (one row per measured point; a point that
is measured again is a new row). Triggers refuse to change or delete either.
"""

from __future__ import annotations

import sqlite3

from costlab.errors import InputError
from costlab.i18n import _

VERSION = 1

_TABLES = """
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


def prepare(connection: sqlite3.Connection) -> None:
    """Create the tables of a new store; check the version of an old one.

    Raises:
        InputError: if a newer CostLab has written the store.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise InputError(
            _("a newer version of CostLab has written this store"),
            given=f"version {version}",
            allowed=f"version {VERSION} or older",
        )
    if version == VERSION:
        return
    # A second process may be creating the same store: whoever comes late finds it done.
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        for statement in (*_TABLES.split(";")[:-1], *_triggers()):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _triggers() -> list[str]:
    return [
        f"CREATE TRIGGER {table}_keep_{action.lower()} BEFORE {action} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END"
        for table in ("runs", "points")
        for action in ("UPDATE", "DELETE")
    ]
