"""What SQLite reports, worded for the person whose file it is: what happened and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from costlab.errors import StoreError
from costlab.i18n import _

_PRIMARY = 0xFF  # the low byte of an extended result code

_NOT_WRITTEN = (
    sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE,
)  # fmt: skip


@contextmanager
def worded(path: Path) -> Iterator[None]:
    """Raise errors of SQLite and of the file system as ``StoreError``."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _error(path, error) from error


def _error(path: Path, error: Exception) -> StoreError:
    message, advice = _wording(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR))
    # SQLite also wraps what is no error of the file ("UNIQUE constraint failed"): keep its words.
    return StoreError(message, given=f"{path}: {error}", advice=advice)


def _wording(code: int) -> tuple[str, str]:
    """Message and advice for an extended result code (https://www.sqlite.org/rescode.html)."""
    full = code in _NOT_WRITTEN
    code &= _PRIMARY
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return _("another program holds the store"), _("end that program, or name another --store")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return _("the store cannot be written"), _("name another with --store")
    if full or code == sqlite3.SQLITE_FULL:
        return _("the disk takes no more"), _(
            "make room and go on with --resume; what the store has confirmed is kept"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _("the file is damaged, or is no store"), _("name another with --store")
    return _("the store cannot be opened"), ""
