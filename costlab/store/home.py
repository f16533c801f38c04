"""Where CostLab keeps its data."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """``$COSTLAB_HOME``, else the platform's user data folder. It need not exist yet."""
    named = os.environ.get("COSTLAB_HOME")
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("costlab", False))


def default_store() -> Path:
    """The store that is used where none is named."""
    return home() / "runs.sqlite"
