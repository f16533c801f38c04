"""Connections to the file of a store, for writing and for looking only."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from costlab.errors import StoreError
from costlab.i18n import _
from costlab.store.schema import check, prepare, show_old

BUSY_MS = 10_000


def connect(path: Path) -> sqlite3.Connection:
    """Open for writing; the file, its folder and its tables are made if need be.

    Raises:
        sqlite3.Error, OSError: what the file system or SQLite say.
        StoreError: see :func:`~costlab.store.schema.prepare`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        # Before the journal mode, which would already change a file of another program.
        check(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path, wait_ms: int = BUSY_MS) -> sqlite3.Connection:
    """Open for reading; creates nothing. A writer that holds the file is waited for.

    Raises:
        sqlite3.Error: what SQLite says.
        StoreError: if there is no such file, or a newer version has written it.
    """
    if not path.exists():
        raise StoreError(_("there is no such store"))
    try:
        return _opened(path, "mode=ro", wait_ms)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        # Readers share memory through a file beside the store. Where the folder cannot be written
        # (a read-only medium) that is impossible, and without a log of changes also not needed.
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        return _opened(path, "mode=ro&immutable=1", wait_ms)


def _opened(path: Path, query: str, wait_ms: int) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?{query}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
        version = check(connection)
        if version == 0:
            raise StoreError(_("the file is empty"))
        show_old(connection, version)
    except BaseException:
        connection.close()
        raise
    return connection
