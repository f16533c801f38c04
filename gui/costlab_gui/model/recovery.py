"""What an app that did not end properly was working on: kept beside the data, offered again."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from costlab.errors import CostLabError
from costlab.store.files import write_whole
from costlab.store.home import home
from costlab_gui.model.session import Session
from costlab_gui.model.session_file import from_json, to_json

SCHEMA = "costlab.recovery/1"


def folder() -> Path:
    """Where the copies lie."""
    return home() / "recovery"


@dataclass(frozen=True, slots=True)
class Recovered:
    """A session that was lost: its copy, the file it belonged to ("" for none), and when (UTC)."""

    copy: Path
    session: Session
    path: str
    saved: float


class Autosave:
    """Keeps a copy of the session of this process until :meth:`end`."""

    def __init__(self) -> None:
        process = psutil.Process()
        self._owner = {"pid": process.pid, "started": process.create_time()}
        self.copy = folder() / f"{process.pid}-{os.urandom(3).hex()}.json"

    def write(self, session: Session, path: Path | None) -> None:
        """Keep ``session``.

        Raises:
            InputError: if the disk is full or cannot be written.
        """
        data = {
            "schema": SCHEMA,
            "owner": self._owner,
            "path": str(path) if path else "",
            "session": to_json(session),
        }
        write_whole(self.copy, json.dumps(data) + "\n")

    def end(self) -> None:
        """The app ends as it should: nothing is lost."""
        with contextlib.suppress(OSError):
            self.copy.unlink(missing_ok=True)


def lost() -> list[Recovered]:
    """Sessions of apps that are no longer running, newest first; unreadable copies are passed."""
    found = []
    for copy in folder().glob("*.json"):
        try:
            data: Any = json.loads(copy.read_text(encoding="utf-8"))
            if data["schema"] != SCHEMA or _alive(data["owner"]):
                continue
            session, _missing = from_json(data["session"])
            found.append(Recovered(copy, session, data["path"], copy.stat().st_mtime))
        except (CostLabError, OSError, ValueError, KeyError, TypeError):
            continue
    return sorted(found, key=lambda item: -item.saved)


def discard(item: Recovered) -> None:
    """Forget a lost session."""
    with contextlib.suppress(OSError):
        item.copy.unlink(missing_ok=True)


def _alive(owner: dict[str, Any]) -> bool:
    """Whether the process that wrote a copy still runs (and is no other of the same number)."""
    try:
        started: float = psutil.Process(owner["pid"]).create_time()
        return abs(started - float(owner["started"])) < 1.0
    except psutil.Error:
        return False
