"""Files that are either the old or the new content, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from costlab.errors import InputError
from costlab.i18n import _


def write_whole(path: Path, content: str | bytes) -> None:
    """Write ``content`` beside ``path``, sync it, and put it in place in one step.

    Raises:
        InputError: if the disk is full or cannot be written; ``path`` is then as it was.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise InputError(
            _("the file cannot be written"), given=f"{path}: {error.strerror or error}"
        ) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where folders can be synced (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
