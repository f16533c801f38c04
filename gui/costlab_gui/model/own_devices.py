"""The user's own device profiles: files that were used lately."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from costlab.errors import CostLabError
from costlab.store.home import home

_KEPT = 12


def recent() -> tuple[Path, ...]:
    """Profile files used lately that are still there, newest first."""
    try:
        names = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, CostLabError):
        return ()
    if not isinstance(names, list):
        return ()
    return tuple(path for name in names if (path := Path(str(name))).is_file())


def remember(path: Path) -> None:
    """Put a profile file first; a folder that cannot be written is no reason to stop."""
    path = path.resolve()
    names = [str(path), *(str(one) for one in recent() if one != path)]
    with contextlib.suppress(OSError, CostLabError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(json.dumps(names[:_KEPT], indent=1), encoding="utf-8")


def _file() -> Path:
    return home() / "devices.json"
