"""Which process measures a run. A lease ends with its process, however that ends."""

from __future__ import annotations

import os
import sqlite3

import psutil

from costlab.errors import StoreError
from costlab.i18n import _

_CLOCK_TICK_S = 0.1


def hold(connection: sqlite3.Connection, run: str) -> None:
    """Take the lease of ``run`` for this process, inside a transaction of the caller.

    Raises:
        StoreError: if another living process holds it.
    """
    row = connection.execute("SELECT process, started FROM leases WHERE run = ?", (run,)).fetchone()
    if row is not None and row[0] != os.getpid() and _lives(*row):
        raise StoreError(
            _("another process is measuring this run"),
            given=_("{run}, process {number}").format(run=run, number=row[0]),
            advice=_("wait for it, or begin a run of your own without --resume"),
        )
    connection.execute(
        "INSERT OR REPLACE INTO leases VALUES (?, ?, ?)",
        (run, os.getpid(), psutil.Process().create_time()),
    )


def held(connection: sqlite3.Connection) -> frozenset[str]:
    """Runs whose lease a living process holds."""
    rows = connection.execute("SELECT run, process, started FROM leases").fetchall()
    return frozenset(run for run, process, started in rows if _lives(process, started))


def release(connection: sqlite3.Connection, run: str) -> None:
    """Give the lease back."""
    connection.execute("DELETE FROM leases WHERE run = ? AND process = ?", (run, os.getpid()))


def _lives(process: int, started: float) -> bool:
    try:
        return abs(psutil.Process(process).create_time() - started) < _CLOCK_TICK_S
    except psutil.Error:  # gone, or another user's: then it is not the one that wrote here
        return False
